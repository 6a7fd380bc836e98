import Glibc

/// A mutex and a condition variable.
///
/// Built on `pthread_mutex_t`, since `Synchronization.Mutex` causes false alarms of the thread
/// sanitizer.
// SAFETY: any thread may use a pthread mutex and condition; they live at one address until deinit.
final class Monitor: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

    init() {
        pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(condition, &attributes)
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        condition.deallocate()
        mutex.deallocate()
    }

    func withLock<Result>(_ body: () -> Result) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return body()
    }

    /// Wakes a waiting thread; not called under the lock, which that thread needs to continue.
    func signal() { pthread_cond_signal(condition) }

    /// Waits for a signal until the deadline at the latest; only called under the lock.
    func wait(until deadline: MonotonicTime?) {
        guard let deadline else {
            pthread_cond_wait(condition, mutex)
            return
        }
        var moment = timespec()
        moment.tv_sec = Int(deadline.nanoseconds / 1_000_000_000)
        moment.tv_nsec = Int(deadline.nanoseconds % 1_000_000_000)
        pthread_cond_timedwait(condition, mutex, &moment)
    }
}

/// A time of the monotonic clock, in nanoseconds.
struct MonotonicTime: Comparable {
    var nanoseconds: UInt64

    static var now: MonotonicTime {
        var moment = timespec()
        clock_gettime(CLOCK_MONOTONIC, &moment)
        return MonotonicTime(
            nanoseconds: UInt64(moment.tv_sec) * 1_000_000_000 + UInt64(moment.tv_nsec))
    }

    func after(milliseconds: UInt64) -> MonotonicTime {
        MonotonicTime(nanoseconds: nanoseconds + milliseconds * 1_000_000)
    }

    static func < (left: MonotonicTime, right: MonotonicTime) -> Bool {
        left.nanoseconds < right.nanoseconds
    }
}
