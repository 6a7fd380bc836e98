import Admin
import LineProtocol
import Session

/// Lines that a node answers for itself, until the reply to the last of them.
struct LineCall: Sendable {
    /// The data lines and the status line of a success.
    struct Reply: Sendable {
        var lines: [(noun: String, fields: ReplyFields)] = []
        var status: ReplyFields?
    }

    typealias Result = Swift.Result<Reply, LineError>

    private var unread: [UInt8] = []
    private var reply = Reply()
    /// The number of status lines that are left.
    private var left: Int
    /// The token that the last line asks for; nil where the last line is one of those to answer.
    private let carried: CarriedToken?
    private let continuation: CheckedContinuation<Result, Never>

    init(
        of count: Int, carrying carried: CarriedToken?,
        _ continuation: CheckedContinuation<Result, Never>
    ) {
        left = count
        self.carried = carried
        self.continuation = continuation
    }

    /// - Returns: whether the call has ended.
    mutating func onBytes(_ bytes: [UInt8]) -> Bool {
        unread += bytes
        var start = 0
        while let end = unread[start...].firstIndex(of: UInt8(ascii: "\n")) {
            let line = ReplyLine(unread[start..<end])
            start = end + 1
            if let line, onLine(line) { return true }
        }
        unread.removeFirst(start)
        return false
    }

    private mutating func onLine(_ line: ReplyLine) -> Bool {
        switch line {
        case .data(let noun, let fields): reply.lines.append((noun, fields))
        case .error(let error):
            end(.failure(error))
            return true
        case .ok(let fields):
            left -= 1
            if left == 0, let carried {
                if let token = fields["token"] { carried.assumeIsolated { $0.set(.token(token)) } }
                end(.success(reply))
                return true
            }
            reply.status = fields
            if left == 0 {
                end(.success(reply))
                return true
            }
            if left > 1 || carried == nil { reply = Reply() }
        }
        return false
    }

    func end(_ result: Result) { continuation.resume(returning: result) }
}

/// The output of a session that answers such lines.
final class LineCallOutput: SessionOutput {
    private unowned let desk: LineDesk
    private let call: UInt64

    init(of call: UInt64, at desk: LineDesk) {
        self.call = call
        self.desk = desk
    }

    func write(_ bytes: [UInt8]) {
        desk.assumeIsolated { [call] in $0.onReply(bytes, to: call) }
    }

    func flush() {}
    var queuedBytes: Int { 0 }
    func setReadingPaused(_ isPaused: Bool) {}
    func finish() { abort() }
    func abort() { desk.assumeIsolated { [call] in $0.onAbort(of: call) } }
}
