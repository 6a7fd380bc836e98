/// Who is told of the failure after which nothing is stored any more.
// SAFETY: all of it is touched under the monitor alone.
final class FailureReport: @unchecked Sendable {
    private let monitor = Monitor()
    private var listener: (@Sendable (StorageError) -> Void)?
    private var failure: StorageError?

    /// Has this one told; at once, where it has happened already.
    func tell(_ listener: @escaping @Sendable (StorageError) -> Void) {
        let failure = monitor.withLock {
            self.listener = listener
            return self.failure
        }
        if let failure { listener(failure) }
    }

    func say(_ error: StorageError) {
        let listener = monitor.withLock {
            failure = error
            return self.listener
        }
        listener?(error)
    }
}
