import HTTP
import Node
import Session
import Wire

/// The protocol logic of a connection to the port for operations, which serves `/metrics`.
///
/// Requests are answered in their order, one in each iteration of the event loop, because a
/// response such as that to `/metrics` takes some milliseconds of the event loop's thread, and a
/// client with many requests must not delay others.
package actor OpsConnection: SessionInput {
    /// The maximum time from the first byte of a request to its last, in milliseconds; a slower
    /// request gets the error 408.
    package static let requestMillisecondsMax: UInt64 = 10_000
    /// The idle timeout of a connection, in milliseconds.
    package static let idleMillisecondsMax: UInt64 = 60_000
    /// The number of unsent response bytes at which the connection stops answering requests.
    package static let queuedBytesMax = 64 << 10

    private let reports: any NodeReports
    private let pages: WebPages
    private let clock: any Clock
    private let output: any SessionOutput
    private nonisolated let executor: any SerialExecutor
    /// Schedules a call of `onTurn` in the next iteration of the event loop.
    private let askForTurn: @Sendable () -> Void

    private var reader = RequestReader()
    /// The HTTP request whose head has arrived and whose end has not; nil for none.
    private var request: RequestHead?
    /// The bytes read from the socket and not parsed yet: at most those of one read.
    private var backlog: [UInt8] = []
    /// When the connection's last request was answered, or the current one began, in milliseconds.
    private var since: UInt64
    private var isTurnAwaited = false
    private var hasEnded = false
    private var isClosing = false

    package init(
        showing reports: any NodeReports, and pages: WebPages, clock: any Clock,
        output: any SessionOutput,
        executor: any SerialExecutor,
        askForTurn: @escaping @Sendable () -> Void
    ) {
        self.reports = reports
        self.pages = pages
        self.clock = clock
        self.output = output
        self.executor = executor
        self.askForTurn = askForTurn
        since = clock.milliseconds
    }

    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        executor.asUnownedSerialExecutor()
    }

    // MARK: Events

    package func onBytes(_ bytes: UnsafeRawBufferPointer) {
        guard !isClosing else { return }
        if reader.isBetweenRequests, backlog.isEmpty { since = clock.milliseconds }
        backlog += bytes
        proceed()
    }

    package func onTurn() {
        isTurnAwaited = false
        proceed()
    }

    package func onDrained() { proceed() }

    /// Handles the end of the client's input; requests that have arrived are still answered.
    package func onEnd() {
        hasEnded = true
        proceed()
    }

    package func onClosed() {
        isClosing = true
        backlog = []
    }

    /// Closes the connection if it exceeds a time limit; called at each tick of the node's timer.
    package func onTick() {
        guard !isClosing, !isTurnAwaited else { return }
        let now = clock.milliseconds
        if reader.isBetweenRequests, backlog.isEmpty {
            if now >= since + OpsConnection.idleMillisecondsMax { close() }
        } else if now >= since + OpsConnection.requestMillisecondsMax {
            guard output.queuedBytes == 0 else { return abort() }
            fail(HTTPError(.requestTimeout, "The request did not arrive in time"))
        }
    }

    /// Closes the connection once its responses are sent, because the process is about to end.
    package func drain() {
        if !isClosing { close() }
    }
}

// MARK: Requests

extension OpsConnection {
    /// Answers the next HTTP request, if it has arrived and the client reads its responses.
    private func proceed() {
        guard !isClosing, !isTurnAwaited else { return }
        if output.queuedBytes < OpsConnection.queuedBytesMax { answerNext() }
        guard !isClosing else { return }
        output.setReadingPaused(!backlog.isEmpty)
        if hasEnded, backlog.isEmpty { close() }
    }

    private func answerNext() {
        let (result, left) = backlog.reading { bytes throws(HTTPError) in
            try readRequest(&bytes)
        }
        backlog.removeFirst(backlog.count - left)
        switch result {
        case .failure(let error): fail(error)
        case .success(nil): break
        case .success(let head?): answer(head)
        }
    }

    /// Returns the next HTTP request once it is complete, or once its head has arrived if it has a
    /// body, since a request with a body is refused; nil before.
    private func readRequest(
        _ bytes: inout Slice<UnsafeRawBufferPointer>
    ) throws(HTTPError) -> RequestHead? {
        while let event = try reader.next(&bytes) {
            switch event {
            case .head(let head):
                request = head
                // A request with a body is refused, so its body need not be read.
                if head.hasBody { return head }
            case .body: break
            case .end:
                defer { request = nil }
                return request
            }
        }
        return nil
    }

    private func answer(_ head: RequestHead) {
        let closes = !head.keepsAlive || head.hasBody
        let origin = head.fields.values(of: "origin").first.flatMap { origin in
            pages.assumeIsolated { $0.admits(origin) } ? origin : nil
        }
        let refusal = pages.refusal(of: head)
        let page = refusal.map { OpsPage($0) } ?? OpsPage(for: head, of: reports, and: pages)
        write(page, isHead: head.method == .head, closes: closes, origin: origin)
        since = clock.milliseconds
        if closes { return close() }
        guard !backlog.isEmpty else { return }
        isTurnAwaited = true
        askForTurn()
    }

    private func fail(_ error: HTTPError) {
        write(OpsPage(error), isHead: false, closes: true)
        close()
    }

    /// - Parameter origin: the origin whose pages may read the response (CORS); nil for none.
    private func write(_ page: OpsPage, isHead: Bool, closes: Bool, origin: String? = nil) {
        var head = ResponseHead(page.status, body: .length(UInt64(page.body.count)))
        head.closes = closes
        head.add("Content-Type", page.contentType)
        if let page = page.page {
            head.add(page)
        } else {
            head.add("Cache-Control", "no-store")
            head.add("X-Content-Type-Options", "nosniff")
        }
        head.add(origin: origin)
        if let allowed = page.allowed { head.add("Allow", allowed) }
        var writer = ByteWriter(reserving: page.body.count + 512)
        writer.write(head, date: HTTPDate.text(of: clock.wallMilliseconds))
        if !isHead { writer.write(raw: page.body) }
        output.write(writer.bytes)
    }

    private func close() {
        isClosing = true
        backlog = []
        output.finish()
    }

    private func abort() {
        isClosing = true
        backlog = []
        output.abort()
    }
}
