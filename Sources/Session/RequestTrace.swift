import Admin
import LineProtocol
import Node

/// The properties of a request that its reply and the node's request metrics need.
struct RequestTrace: Sendable {
    /// The index of the request's verb in `Verb.all`; nil for an unknown verb.
    let verb: UInt8?
    let kind: RequestKind
    let reply: Verb.ReplySize
    /// The time at which the request was read, in microseconds.
    let readAt: UInt64
    /// Whether the request was a line, so that the response is sent as lines.
    private(set) var isLine = true
    /// Whether the node's metrics count the request; requests of the node itself are not counted.
    private(set) var isCounted = true
    /// The error code of the response; nil for a success.
    var code: UInt16?

    init(of request: Request, _ traits: Verb.Traits?, readAt: UInt64) {
        verb = traits?.index
        reply = traits?.reply ?? .short
        self.readAt = readAt
        kind =
            switch (request, traits?.effect) {
            case (.write, _), (_, .writes): .write
            case (_, .reads): .read
            case (_, .operates), (_, nil): .other
            }
    }

    /// The trace of a request that was submitted as a value.
    ///
    /// - Parameter traits: the traits of the request's verb; nil for a request of the node itself.
    init(submitted request: Request, _ traits: Verb.Traits?, readAt: UInt64) {
        self.init(of: request, traits, readAt: readAt)
        isLine = false
        isCounted = traits != nil
    }

    /// - Parameter traits: the traits of the line's verb; nil for a line without a known verb.
    init(ofWrongLine traits: Verb.Traits?, readAt: UInt64) {
        verb = traits?.index
        reply = .short
        self.readAt = readAt
        kind = .other
    }

    /// The trace of input that is no complete line, such as a line that is too long.
    static func nothing(readAt: UInt64) -> RequestTrace {
        RequestTrace(ofWrongLine: nil, readAt: readAt)
    }

    /// Converts a response to the form in which the session sends it.
    mutating func make(_ response: Response) -> MadeResponse {
        let (bytes, error) = isLine ? response.lines : ([], response.error)
        code = error.map { UInt16($0.code) }
        return isLine ? .lines(bytes) : .value(response, bytes: response.roughBytes)
    }

    /// The entry in the node's request metrics, which is recorded after the response was sent.
    var answered: AnsweredRequest {
        AnsweredRequest(verb: verb, kind: kind, readAt: readAt, code: code)
    }
}

extension AnsweredRequest {
    /// The debug log line about the request, without its content.
    func line(for client: UInt64, now: UInt64) -> String {
        let name = verb.map { Verb.all[Int($0)].name } ?? "?"
        let outcome = code.map { "ERR \($0)" } ?? "OK"
        return "answered \(name) \(outcome) client=\(client) us=\(now - min(now, readAt))"
    }
}
