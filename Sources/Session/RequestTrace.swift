import Admin
import LineProtocol
import Node

/// The request to which a reply belongs, for the counts of requests.
struct RequestTrace: Sendable {
    /// The index of its verb in `Verb.all`; nil for an unknown verb.
    let verb: UInt8?
    let kind: RequestKind
    let reply: Verb.ReplySize
    /// When it was read, in microseconds.
    let readAt: UInt64
    /// Whether it was a line, so that the response is lines.
    var isLine = true
    /// Whether the node counts it: it is no request of the node itself.
    var isCounted = true
    /// The code of the error with which it was answered; nil for none.
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

    /// - Parameter traits: nil where the line has no known verb.
    init(ofWrongLine traits: Verb.Traits?, readAt: UInt64) {
        verb = traits?.index
        reply = .short
        self.readAt = readAt
        kind = .other
    }

    /// The trace of bytes that are no line.
    static func nothing(readAt: UInt64) -> RequestTrace {
        RequestTrace(ofWrongLine: nil, readAt: readAt)
    }

    /// Makes of a response the form in which it leaves.
    mutating func make(_ response: Response) -> MadeResponse {
        let (bytes, error) = isLine ? response.lines : ([], response.error)
        code = error.map { UInt16($0.code) }
        return isLine ? .lines(bytes) : .value(response, bytes: response.roughBytes)
    }

    /// The request as the node counts it, once its response has left.
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
