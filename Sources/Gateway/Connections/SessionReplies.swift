import Admin
import Node
import Session

/// The receiver of the responses and events of a session that executes the requests of an HTTP or
/// WebSocket connection.
///
/// The session calls the receiver while the session itself is executing, so the connection must not
/// call the session during this call. The connection writes to its socket at once, and calls the
/// session in a later event-loop iteration.
final class SessionReplies: ValueOutput {
    private unowned let connection: AppConnection

    init(of connection: AppConnection) { self.connection = connection }

    func receive(_ response: Response) -> Int {
        connection.assumeIsolated(with: response) { connection, response in
            connection.countingWritten { connection.onResponse(response) }
        }
    }

    var eventForm: EventForm { .json }

    func write(_ events: [ToldEvent]) -> Int {
        connection.assumeIsolated(with: events) { connection, events in
            connection.countingWritten { connection.onEvents(events) }
        }
    }

    func flush() { connection.assumeIsolated { $0.output.flush() } }

    var queuedBytes: Int {
        connection.assumeIsolated(with: ()) { connection, _ in connection.bytesOfStream ?? 0 }
    }

    func setReadingPaused(_ isPaused: Bool) {
        connection.assumeIsolated { $0.onSessionFull(isPaused) }
    }

    func finish() { connection.assumeIsolated { $0.close() } }

    func abort() { connection.assumeIsolated { $0.abort() } }
}

extension AppConnection {
    /// Executes `work`, and returns the number of bytes that `work` has written to the connection.
    func countingWritten(_ work: () -> Void) -> Int {
        let before = written
        work()
        return Int(written - before)
    }
}
