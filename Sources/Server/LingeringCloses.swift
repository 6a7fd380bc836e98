import NetworkIO

/// The connections that are told why they are closed: a few at a time, since one that does not
/// close its side keeps a descriptor for seconds.
final class LingeringCloses: Sendable {
    private let countMax: Int
    private let count = Lock(0)

    init(atMost count: Int) { countMax = count }

    /// Sends `bytes` and closes; closes at once where too many connections linger already.
    func dismiss(_ connection: Connection, saying bytes: [UInt8]) {
        guard let lingeringClose = begin() else { return connection.close() }
        dismiss(connection, saying: bytes, at: lingeringClose)
    }

    /// Sends `bytes` and closes a connection that has a place already.
    func dismiss(
        _ connection: Connection, saying bytes: [UInt8], at lingeringClose: LingeringClose
    ) {
        connection.delegate = Lingering(lingeringClose)
        connection.write(bytes)
        connection.closeAfterFlush()
    }

    /// Takes a place for a connection that is being closed; it is free again with the returned
    /// object.
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

/// A place among the connections that are being closed.
final class LingeringClose: Sendable {
    private let onEnd: @Sendable () -> Void

    init(_ onEnd: @escaping @Sendable () -> Void) { self.onEnd = onEnd }

    deinit { onEnd() }
}

/// A delegate that keeps a place until the connection is gone.
private final class Lingering: ConnectionDelegate {
    private let lingeringClose: LingeringClose

    init(_ lingeringClose: LingeringClose) { self.lingeringClose = lingeringClose }

    func connection(_ connection: Connection, didRead bytes: UnsafeRawBufferPointer) {}
    func connectionDidReachEnd(_ connection: Connection) {}
    func connection(_ connection: Connection, didDrainTo queuedBytes: Int) {}
    func connectionDidClose(_ connection: Connection, error: NetworkError?) {}
}
