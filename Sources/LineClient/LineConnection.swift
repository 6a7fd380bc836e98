import LineProtocol
import NetworkIO

/// A client's connection to a node: requests are sent, and replies arrive in their order.
///
/// The connection lives on its loop's thread, as its `Connection` does. A request is answered
/// exactly once: by its reply, or by the failure that ended the connection.
package final class LineConnection {
    package typealias Answer = Result<LineReply, LineFailure>

    /// The limit of requests without a reply: four times as many as a node's session accepts before
    /// it stops reading.
    package static let unansweredMax = 4_096

    /// The limit of bytes that wait for the kernel to accept them.
    package static let queuedBytesMax = 8 << 20

    /// The silence after which a node that owes a reply has failed, unless the request says
    /// otherwise.
    package static let patienceMilliseconds: UInt64 = 10_000

    private static let tickMilliseconds: UInt64 = 50

    private struct Unanswered {
        let patienceMilliseconds: UInt64
        let then: (Answer) -> Void
    }

    /// Called once, after every unanswered request has failed.
    package var onClose: ((LineFailure) -> Void)?

    /// Called with each `EVENT` line, once a user is watched.
    package var onEvent: ((ReplyFields) -> Void)?

    package var unansweredCount: Int { unanswered.count - answered }
    package private(set) var isClosed = false

    private let connection: Connection
    private let loop: EventLoop
    private var cutter = ReplyCutter()
    /// The requests in order, of which the first `answered` have been answered.
    private var unanswered: [Unanswered] = []
    private var answered = 0
    private var ticker: Timer?
    /// The time of the node's last bytes, or of the first request since it owed no reply.
    private var heardNanoseconds: UInt64 = 0
    private var failure: LineFailure?

    private init(_ connection: Connection, on loop: EventLoop) {
        self.connection = connection
        self.loop = loop
        ticker = Timer(on: loop, everyMilliseconds: Self.tickMilliseconds) { [weak self] in
            self?.onTick()
        }
        connection.delegate = self
    }

    /// Connects to a node's admin address; `then` is called once, in a later turn of the loop.
    package static func dial(
        _ address: SocketAddress, on loop: EventLoop, timeoutMilliseconds: UInt64 = 2_000,
        then: @escaping (Result<LineConnection, LineFailure>) -> Void
    ) {
        dial(Endpoint(address), on: loop, timeoutMilliseconds: timeoutMilliseconds, then: then)
    }

    /// Connects to an address that may be a host name.
    package static func dial(
        _ address: Endpoint, on loop: EventLoop, timeoutMilliseconds: UInt64 = 2_000,
        then: @escaping (Result<LineConnection, LineFailure>) -> Void
    ) {
        Connection.dial(address, on: loop, timeoutMilliseconds: timeoutMilliseconds) { result in
            then(
                result.map { LineConnection($0, on: loop) }.mapError { .unreachable($0) })
        }
    }

    /// Sends a line after those that were sent before.
    ///
    /// - Parameter line: without its LF, and not blank: a node does not answer a blank line.
    /// - Returns: false, and `then` is never called, if the connection is closed or full.
    @discardableResult
    package func send(
        _ line: String, patienceMilliseconds: UInt64 = LineConnection.patienceMilliseconds,
        then: @escaping (Answer) -> Void
    ) -> Bool {
        precondition(!line.utf8.contains(UInt8(ascii: "\n")), "a request is one line")
        precondition(line.utf8.contains { $0 > UInt8(ascii: " ") }, "a blank line has no reply")
        guard !isClosed, failure == nil, unansweredCount < Self.unansweredMax,
            connection.queuedBytes < Self.queuedBytesMax
        else { return false }
        if unansweredCount == 0 { heardNanoseconds = loop.nanoseconds }
        unanswered.append(Unanswered(patienceMilliseconds: patienceMilliseconds, then: then))
        var line = line
        line.withUTF8 { connection.write(UnsafeRawBufferPointer($0)) }
        connection.write([UInt8(ascii: "\n")])
        return true
    }

    /// Closes the connection at once; unanswered requests fail with `closed`.
    package func close() { closeConnection(.closed) }

    private func closeConnection(_ cause: LineFailure) {
        guard failure == nil else { return }
        failure = cause
        ticker?.cancel()
        ticker = nil
        connection.close()
    }

    private func onTick() {
        guard unansweredCount > 0 else { return }
        let patience = unanswered[answered].patienceMilliseconds
        if loop.nanoseconds >= heardNanoseconds + patience * 1_000_000 {
            closeConnection(.silent(milliseconds: patience))
        }
    }

    private func onEventLine(_ line: ArraySlice<UInt8>) {
        guard failure == nil, case .data(_, let fields) = ReplyLine(line) else { return }
        onEvent?(fields)
    }

    private func onReply(_ reply: LineReply) {
        guard failure == nil else { return }
        guard unansweredCount > 0 else { return closeConnection(.notAReply) }
        let first = unanswered[answered]
        answered += 1
        if answered == unanswered.count {
            unanswered.removeAll(keepingCapacity: true)
            answered = 0
        } else if answered >= 1_024 {
            unanswered.removeFirst(answered)
            answered = 0
        }
        first.then(.success(reply))
    }
}

extension LineConnection: ConnectionDelegate {
    package func connection(
        _ connection: Connection, didRead bytes: UnsafeRawBufferPointer
    ) {
        heardNanoseconds = loop.nanoseconds
        do throws(ReplyCutter.TooLong) {
            try cutter.feed(bytes, event: onEventLine, onReply)
        } catch {
            closeConnection(.notAReply)
        }
    }

    package func connectionDidReachEnd(_ connection: Connection) { closeConnection(.ended) }

    package func connection(_ connection: Connection, didDrainTo queuedBytes: Int) {}

    package func connectionDidClose(_ connection: Connection, error: NetworkError?) {
        isClosed = true
        ticker?.cancel()
        ticker = nil
        let cause = failure ?? error.map { .lost($0) } ?? .closed
        failure = cause
        let left = unanswered[answered...]
        unanswered = []
        answered = 0
        for request in left { request.then(.failure(cause)) }
        let told = onClose
        onClose = nil
        told?(cause)
    }
}
