import NetworkIO
import Session

/// An adapter from a client's connection to the output of its session.
final class ClientOutput: SessionOutput {
    private let connection: Connection

    init(_ connection: Connection) { self.connection = connection }

    func write(_ bytes: [UInt8]) { connection.write(bytes) }

    func flush() { connection.flushNow() }

    var queuedBytes: Int { connection.queuedBytes }

    func setReadingPaused(_ isPaused: Bool) {
        if isPaused { connection.pauseReading() } else { connection.resumeReading() }
    }

    func finish() { connection.closeAfterFlush() }

    func abort() { connection.close() }
}

/// A delegate that passes the events of a client's connection to its session.
final class ClientEvents: ConnectionDelegate {
    private let session: Session
    private let onClose: () -> Void

    init(_ session: Session, onClose: @escaping () -> Void) {
        self.session = session
        self.onClose = onClose
    }

    func connection(_ connection: Connection, didRead bytes: UnsafeRawBufferPointer) {
        // SAFETY: the session reads the loop's buffer during this call, on the loop's thread, only.
        nonisolated(unsafe) let bytes = bytes
        session.assumeIsolated { $0.onBytes(bytes) }
    }

    func connectionDidReachEnd(_ connection: Connection) {
        session.assumeIsolated { $0.onEnd() }
    }

    func connection(_ connection: Connection, didDrainTo queuedBytes: Int) {
        session.assumeIsolated { $0.onDrained() }
    }

    func connectionDidClose(_ connection: Connection, error: NetworkError?) {
        session.assumeIsolated { $0.onClosed() }
        onClose()
    }
}
