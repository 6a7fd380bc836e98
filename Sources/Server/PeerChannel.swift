import NetworkIO
import Node

/// Fits a connection to another node to the node's channel.
final class PeerChannel: Channel, ConnectionDelegate {
    private let connection: Connection
    private let node: Node
    /// The other end went without a word.
    private let onHungUp: @Sendable () -> Void
    private let onClose: @Sendable () -> Void

    init(
        _ connection: Connection, node: Node, onHungUp: @escaping @Sendable () -> Void,
        onClose: @escaping @Sendable () -> Void
    ) {
        self.onHungUp = onHungUp
        self.connection = connection
        self.node = node
        self.onClose = onClose
    }

    var id: UInt64 { connection.id }

    func send(_ bytes: [UInt8]) { connection.write(bytes) }

    var queuedBytes: Int { connection.queuedBytes }

    func setPaused(_ isPaused: Bool) {
        if isPaused { connection.pauseReading() } else { connection.resumeReading() }
    }

    /// What was sent last, a rejection for one, still goes out.
    func close() {
        if connection.queuedBytes > 0 { connection.closeAfterFlush() } else { connection.close() }
    }

    func connection(_ connection: Connection, didRead bytes: UnsafeRawBufferPointer) {
        // SAFETY: the node reads the loop's buffer during this call, on the loop's thread, only.
        nonisolated(unsafe) let bytes = bytes
        node.assumeIsolated { [id] in $0.onBytes(bytes, on: id) }
    }

    func connectionDidReachEnd(_ connection: Connection) {
        if !connection.hasRead { onHungUp() }
        connection.close()
    }

    func connection(_ connection: Connection, didDrainTo queuedBytes: Int) {}

    func connectionDidClose(_ connection: Connection, error: NetworkError?) {
        if error == .reset, !connection.hasRead { onHungUp() }
        node.assumeIsolated { [id] in $0.onClosed(id) }
        onClose()
    }
}
