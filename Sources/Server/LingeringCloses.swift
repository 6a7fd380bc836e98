import NetworkIO

/// Connections that are told why they are closed: a few at a time, since one that does not close
/// its side keeps a descriptor for seconds.
final class LingeringCloses: Sendable {
    private let countMax: Int
    private let count = Lock(0)

    init(atMost count: Int) { countMax = count }

    /// Says some last words, or none where too many linger already.
    func dismiss(_ connection: Connection, saying bytes: [UInt8]) {
        guard let lingeringClose = begin() else { return connection.close() }
        connection.delegate = Lingering(lingeringClose)
        connection.write(bytes)
        connection.closeAfterFlush()
    }

    /// Takes a place for a connection that ends; it is free again when the returned object goes.
    ///
    /// - Returns: nil where there is no place.
    func begin() -> LingeringClose? {
        let isFree = count.withLock { count in
            guard count < countMax else { return false }
            count += 1
            return true
        }
        return isFree ? LingeringClose { [self] in count.withLock { $0 -= 1 } } : nil
    }
}

/// A place among the connections that end.
final class LingeringClose: Sendable {
    private let onEnd: @Sendable () -> Void

    init(_ onEnd: @escaping @Sendable () -> Void) { self.onEnd = onEnd }

    deinit { onEnd() }
}

/// Holds a place until the connection is gone.
private final class Lingering: ConnectionDelegate {
    private let lingeringClose: LingeringClose

    init(_ lingeringClose: LingeringClose) { self.lingeringClose = lingeringClose }

    func connection(_ connection: Connection, didRead bytes: UnsafeRawBufferPointer) {}
    func connectionDidReachEnd(_ connection: Connection) {}
    func connection(_ connection: Connection, didDrainTo queuedBytes: Int) {}
    func connectionDidClose(_ connection: Connection, error: NetworkError?) {}
}
