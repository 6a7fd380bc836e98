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

/// A delegate that passes the events of a client's connection to its session, or to what reads its
/// requests on another port.
final class ClientEvents<Input: SessionInput>: ConnectionDelegate {
    private let input: Input
    private let onClose: () -> Void

    init(_ input: Input, onClose: @escaping () -> Void) {
        self.input = input
        self.onClose = onClose
    }

    func connection(_ connection: Connection, didRead bytes: UnsafeRawBufferPointer) {
        // SAFETY: the input reads the loop's buffer during this call, on the loop's thread, only.
        nonisolated(unsafe) let bytes = bytes
        input.assumeIsolated { $0.onBytes(bytes) }
    }

    func connectionDidReachEnd(_ connection: Connection) {
        input.assumeIsolated { $0.onEnd() }
    }

    func connection(_ connection: Connection, didDrainTo queuedBytes: Int) {
        input.assumeIsolated { $0.onDrained() }
    }

    func connectionDidClose(_ connection: Connection, error: NetworkError?) {
        input.assumeIsolated { $0.onClosed() }
        onClose()
    }
}
