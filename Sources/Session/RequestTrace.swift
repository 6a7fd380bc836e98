import Admin
import LineProtocol
import Node

/// What a reply is the reply to, for those who count.
struct RequestTrace: Sendable {
    /// The place of its verb in `Verb.all`; nil for what is no verb.
    let verb: UInt8?
    let kind: RequestKind
    /// In microseconds.
    let readAt: UInt64

    /// A line that is no request.
    static func nothing(readAt: UInt64) -> RequestTrace {
        RequestTrace(verb: nil, kind: .other, readAt: readAt)
    }

    /// - Parameter reply: its bytes; one that is an `ERR` has no data lines before it.
    func answered(by reply: [UInt8]) -> AnsweredRequest {
        AnsweredRequest(verb: verb, kind: kind, readAt: readAt, code: RequestTrace.code(of: reply))
    }

    /// The three digits behind `ERR`.
    private static func code(of reply: [UInt8]) -> UInt16? {
        guard reply.count > 6, reply[0] == UInt8(ascii: "E"), reply[1] == UInt8(ascii: "R"),
            reply[2] == UInt8(ascii: "R"), reply[3] == UInt8(ascii: " ")
        else { return nil }
        return reply[4..<7].reduce(0) { $0 * 10 + UInt16($1 &- UInt8(ascii: "0")) }
    }
}

extension AnsweredRequest {
    /// What is logged of it, where everything is: not what it said.
    func line(for client: UInt64, now: UInt64) -> String {
        let name = verb.map { Verb.all[Int($0)].name } ?? "?"
        let outcome = code.map { "ERR \($0)" } ?? "OK"
        return "answered \(name) \(outcome) client=\(client) us=\(now - min(now, readAt))"
    }
}
