import Admin
import Node
import Session

/// The output of a session that answers the requests of a connection to the port for apps.
///
/// The session calls this output while executing: the connection writes to its own output at once,
/// and defers everything that needs the session to its next turn.
final class SessionReplies: ValueOutput {
    private unowned let connection: AppConnection

    init(of connection: AppConnection) { self.connection = connection }

    func receive(_ response: Response) -> Int {
        connection.assumeIsolated { connection in
            connection.countingWritten { connection.onResponse(response) }
        }
    }

    var eventForm: EventForm { .json }

    func write(_ events: [ToldEvent]) -> Int {
        connection.assumeIsolated { connection in
            connection.countingWritten { connection.onEvents(events) }
        }
    }

    func flush() { connection.assumeIsolated { $0.output.flush() } }

    var queuedBytes: Int { connection.assumeIsolated { $0.bytesOfStream } }

    func setReadingPaused(_ isPaused: Bool) {
        connection.assumeIsolated { $0.onSessionFull(isPaused) }
    }

    func finish() { connection.assumeIsolated { $0.close() } }

    func abort() { connection.assumeIsolated { $0.abort() } }
}

extension AppConnection {
    /// Returns the number of bytes that are written during `work`.
    func countingWritten(_ work: () -> Void) -> Int {
        let before = written
        work()
        return Int(written - before)
    }
}
