/// The listener for damage and for the failure after which nothing is stored any more.
// SAFETY: all stored properties are accessed only under the monitor.
final class FailureReport: @unchecked Sendable {
    private let monitor = Monitor()
    private var listener: (@Sendable (StorageError) -> Void)?
    /// The failures that were reported before there was a listener; equal ones are stored once.
    private var failures: Set<StorageError> = []

    /// Sets the listener, and reports earlier failures to it at once.
    func setListener(_ listener: @escaping @Sendable (StorageError) -> Void) {
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
