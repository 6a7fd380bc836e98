import NetworkIO
import Node

/// An adapter from a connection with another node to the node's channel.
final class PeerChannel: Channel, ConnectionDelegate {
    private let connection: Connection
    private let node: Node
    private let lingeringCloses: LingeringCloses
    private let lingeringClose = Lock<LingeringClose?>(nil)
    /// Called when the peer closed the connection without having sent anything.
    private let onHungUp: @Sendable () -> Void
    private let onClose: @Sendable () -> Void

    init(
        _ connection: Connection, node: Node, lingeringCloses: LingeringCloses,
        onHungUp: @escaping @Sendable () -> Void, onClose: @escaping @Sendable () -> Void
    ) {
        self.connection = connection
        source = connection.peerAddress.hostText
        self.node = node
        self.lingeringCloses = lingeringCloses
        self.onHungUp = onHungUp
        self.onClose = onClose
    }

    var id: UInt64 { connection.id }

    let source: String

    func send(_ bytes: [UInt8]) { connection.write(bytes) }

    var queuedBytes: Int { connection.queuedBytes }

    func setPaused(_ isPaused: Bool) {
        if isPaused { connection.pauseReading() } else { connection.resumeReading() }
    }

    /// Closes the connection after what was sent last, such as a rejection.
    func close() {
        guard connection.queuedBytes > 0, let place = lingeringCloses.begin() else {
            return connection.close()
        }
        lingeringClose.withLock { $0 = place }
        connection.closeAfterFlush()
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
        lingeringClose.withLock { $0 = nil }
        if error == .reset, !connection.hasRead { onHungUp() }
        node.assumeIsolated { [id] in $0.onClosed(id) }
        onClose()
    }
}
