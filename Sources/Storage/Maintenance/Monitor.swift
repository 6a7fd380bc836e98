import Glibc

/// A mutex and a condition variable.
///
/// A monitor uses `pthread_mutex_t`, as `Synchronization.Mutex` raises false thread sanitizer
/// alarms.
// SAFETY: any thread may use a pthread mutex and condition; both keep their addresses until deinit.
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

    /// Wakes a waiting thread; not called under the lock, which the woken thread needs.
    func signal() { pthread_cond_signal(condition) }

    /// Waits for a signal, at the latest until the deadline; only called under the lock.
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
