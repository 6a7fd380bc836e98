import Glibc

/// A value that several threads share, one at a time.
///
/// A `pthread_mutex_t` and not `Synchronization.Mutex`, because the thread sanitizer does not see
/// the latter's ordering (Swift 6.3.1) and reports races that are none.
// SAFETY: no thread owns it; `state` is touched only while `mutex` is held.
package final class Lock<State: Sendable>: @unchecked Sendable {
    private var state: State

    /// In memory of its own: a mutex must not move, and a stored property may.
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>

    package init(_ state: State) {
        self.state = state
        mutex = .allocate(capacity: 1)
        let code = pthread_mutex_init(mutex, nil)
        precondition(code == 0, "a mutex with default attributes can always be made")
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    /// Lends the value to `body`, which must not take the same lock again and ought to be short.
    package func withLock<Answer, Failure: Error>(
        _ body: (inout State) throws(Failure) -> Answer
    ) throws(Failure) -> Answer {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body(&state)
    }
}
