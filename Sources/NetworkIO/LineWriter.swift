import CLibuv
import Glibc

/// A thread that writes lines to a descriptor, so that a stalled reader delays no other thread: a
/// write to a full pipe, or to a terminal that is stopped, may block for ever.
///
/// Lines wait in a buffer of at most `bytesMax`. A line that does not fit is dropped and counted;
/// the count is written as a line of its own after those that waited. The descriptor keeps its
/// mode, which the shell that started this process may share.
// SAFETY: `state` is touched only while `mutex` is held; the rest never changes.
package final class LineWriter: @unchecked Sendable {
    /// The most bytes that wait: several thousand lines, for a reader that pauses for a moment.
    package static let bytesMax = 1 << 20

    private struct State {
        var waiting: [UInt8] = []
        var dropped = 0
        var isWriting = false
    }

    private let descriptor: Int32
    private let bytesMax: Int
    private let onDropped: @Sendable (Int) -> String
    private var state = State()
    /// Allocated on their own, since neither may move.
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let changed = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

    /// Starts the thread; the thread and this object live as long as the process.
    ///
    /// - Parameter onDropped: returns the line that reports a number of dropped lines.
    package init(
        _ descriptor: Int32, bytesMax: Int = LineWriter.bytesMax,
        onDropped: @escaping @Sendable (Int) -> String
    ) throws(NetworkError) {
        self.descriptor = descriptor
        self.bytesMax = bytesMax
        self.onDropped = onDropped
        pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(changed, &attributes)
        pthread_condattr_destroy(&attributes)
        pthread_detach(try startThread { self.run() })
    }

    deinit {
        pthread_cond_destroy(changed)
        pthread_mutex_destroy(mutex)
        changed.deallocate()
        mutex.deallocate()
    }

    /// Queues a line, without its end; never waits for the descriptor.
    package func write(_ line: String) {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        guard state.waiting.count + line.utf8.count < bytesMax else {
            state.dropped += 1
            return
        }
        state.waiting.append(contentsOf: line.utf8)
        state.waiting.append(UInt8(ascii: "\n"))
        pthread_cond_broadcast(changed)
    }

    /// Waits until everything is written, for at most `patience` milliseconds.
    ///
    /// - Returns: whether everything is written.
    @discardableResult
    package func finish(withinMilliseconds patience: Int) -> Bool {
        var deadline = timespec()
        clock_gettime(CLOCK_MONOTONIC, &deadline)
        let nanoseconds = deadline.tv_nsec + (patience % 1_000) * 1_000_000
        deadline.tv_sec += patience / 1_000 + nanoseconds / 1_000_000_000
        deadline.tv_nsec = nanoseconds % 1_000_000_000
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while state.isWriting || !state.waiting.isEmpty {
            guard pthread_cond_timedwait(changed, mutex, &deadline) == 0 else { return false }
        }
        return true
    }

    private func run() -> Never {
        while true { put(next()) }
    }

    /// Waits for bytes to write; a line about dropped lines follows those that came before them.
    private func next() -> [UInt8] {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        state.isWriting = false
        pthread_cond_broadcast(changed)
        while state.waiting.isEmpty { pthread_cond_wait(changed, mutex) }
        state.isWriting = true
        var bytes: [UInt8] = []
        swap(&bytes, &state.waiting)
        if state.dropped > 0 {
            bytes.append(contentsOf: onDropped(state.dropped).utf8)
            bytes.append(UInt8(ascii: "\n"))
            state.dropped = 0
        }
        return bytes
    }

    /// Writes all bytes; on an error the rest, which nobody could read, is lost.
    private func put(_ bytes: [UInt8]) {
        var start = 0
        while start < bytes.count {
            let written = bytes.withUnsafeBytes { buffer in
                Glibc.write(
                    descriptor, buffer.baseAddress?.advanced(by: start), buffer.count - start)
            }
            if written > 0 {
                start += written
            } else if errno == EAGAIN {
                // Another process that shares the descriptor has made it non-blocking.
                var poll = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = Glibc.poll(&poll, 1, -1)
            } else if errno != EINTR {
                return
            }
        }
    }
}
