import Admin
import LineProtocol
import Node

/// The request to which a reply belongs, for the counts of requests.
struct RequestTrace: Sendable {
    /// The index of its verb in `Verb.all`; nil for an unknown verb.
    let verb: UInt8?
    let kind: RequestKind
    let reply: Verb.ReplySize
    /// When its line was read, in microseconds.
    let readAt: UInt64

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

    /// - Parameter reply: the bytes of the reply; an `ERR` has no data lines before it.
    func answered(by reply: [UInt8]) -> AnsweredRequest {
        AnsweredRequest(verb: verb, kind: kind, readAt: readAt, code: RequestTrace.code(of: reply))
    }

    /// Returns the three digits behind `ERR`; nil for another reply.
    private static func code(of reply: [UInt8]) -> UInt16? {
        guard reply.count > 6, reply[0] == UInt8(ascii: "E"), reply[1] == UInt8(ascii: "R"),
            reply[2] == UInt8(ascii: "R"), reply[3] == UInt8(ascii: " ")
        else { return nil }
        return reply[4..<7].reduce(0) { $0 * 10 + UInt16($1 &- UInt8(ascii: "0")) }
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
