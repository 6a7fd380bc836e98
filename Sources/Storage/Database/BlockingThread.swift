import Glibc

/// A thread for work that blocks on the disk.
final class BlockingThread {
    private let body: @Sendable () -> Void

    private init(_ body: @escaping @Sendable () -> Void) { self.body = body }

    /// Runs the body on a new thread, which the caller has to join.
    ///
    /// - Parameter doing: the purpose of the thread, for an error sentence.
    static func start(
        doing: String, _ body: @escaping @Sendable () -> Void
    ) throws(StorageError) -> pthread_t {
        var started = pthread_t()
        let context = Unmanaged.passRetained(BlockingThread(body))
        let code = pthread_create(
            &started, nil,
            { @Sendable context in
                guard let context else { return nil }
                Unmanaged<BlockingThread>.fromOpaque(context).takeRetainedValue().body()
                return nil
            }, context.toOpaque())
        guard code == 0 else {
            context.release()
            throw .io(code: code, doing: doing)
        }
        return started
    }
}
