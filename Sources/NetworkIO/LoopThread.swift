import Glibc

/// A loop on a thread of its own, for a process whose first thread has something else to do.
package final class LoopThread: Sendable {
    package let loop: EventLoop
    private let thread: pthread_t
    private let isJoined = Lock(false)

    /// Starts the thread; the loop runs from then on.
    package init() throws(NetworkError) {
        let loop = try EventLoop()
        self.loop = loop
        thread = try startThread { loop.run() }
    }

    /// Stops the loop and waits for its thread to end; not to be called on the loop.
    package func join() {
        precondition(!loop.isCurrent, "a thread cannot wait for its own end")
        let isFirst = isJoined.withLock { joined in
            defer { joined = true }
            return !joined
        }
        guard isFirst else { return }
        loop.stop()
        pthread_join(thread, nil)
    }
}
