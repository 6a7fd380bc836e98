/// The listener that is told of damage and of the failure after which nothing is stored any more.
// SAFETY: all of it is touched under the monitor alone.
final class FailureReport: @unchecked Sendable {
    private let monitor = Monitor()
    private var listener: (@Sendable (StorageError) -> Void)?
    /// What was said before there was one: of each kind of damage once.
    private var failures: Set<StorageError> = []

    /// Has this one told; at once, where it has happened already.
    func tell(_ listener: @escaping @Sendable (StorageError) -> Void) {
        let failures = monitor.withLock {
            self.listener = listener
            defer { self.failures = [] }
            return self.failures
        }
        for failure in failures { listener(failure) }
    }

    func say(_ error: StorageError) {
        let listener = monitor.withLock {
            if self.listener == nil { failures.insert(error) }
            return self.listener
        }
        listener?(error)
    }
}
