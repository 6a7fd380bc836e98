import CLibuv

/// A watcher that reports when a socket of other code, such as a library that does its own reading
/// and writing, can be read or written.
///
/// The owner of the socket cancels the watcher before it closes the socket.
package final class SocketWatcher: LoopHandle {
    package struct Events: OptionSet, Sendable {
        package static let readable = Events(rawValue: 1)
        package static let writable = Events(rawValue: 2)
        /// The socket has an error, which its owner can ask for; reported alone, and to everyone.
        ///
        /// The watcher rests after it, until the next `watch`.
        package static let failed = Events(rawValue: 4)

        package let rawValue: Int

        package init(rawValue: Int) { self.rawValue = rawValue }
    }

    private var work: ((Events) -> Void)?

    /// Watches for nothing until `watch`.
    package init(
        _ socket: Int32, on loop: EventLoop, _ work: @escaping (Events) -> Void
    ) throws(NetworkError) {
        loop.checkConfined()
        let memory = Self.allocate(UV_POLL)
        let code = uv_poll_init(loop.raw, memory.assumingMemoryBound(to: uv_poll_t.self), socket)
        guard code == 0 else {
            memory.deallocate()
            throw NetworkError(code, doing: "watching a socket")
        }
        self.work = work
        super.init(owning: memory, on: loop)
    }

    /// Watches for these events from now on, and for no others.
    package func watch(_ events: Events) {
        loop.checkConfined()
        guard !isClosing else { return }
        let poll = memory.assumingMemoryBound(to: uv_poll_t.self)
        var mask: UInt32 = 0
        if events.contains(.readable) { mask |= UV_READABLE.rawValue }
        if events.contains(.writable) { mask |= UV_WRITABLE.rawValue }
        let code = uv_poll_start(poll, Int32(mask)) { poll, status, mask in
            guard let data = poll?.pointee.data else { return }
            Unmanaged<SocketWatcher>.fromOpaque(data).takeUnretainedValue()
                .onEvents(status, UInt32(bitPattern: mask))
        }
        precondition(code == 0, "a handle that is open can be started: \(code)")
    }

    /// Stops the watcher for good; harmless when repeated.
    package func cancel() { closeHandle() }

    override func handleDidClose() { work = nil }

    private func onEvents(_ status: Int32, _ mask: UInt32) {
        guard !isClosing else { return }
        var events: Events = status < 0 ? .failed : []
        if mask & UV_READABLE.rawValue != 0 { events.insert(.readable) }
        if mask & UV_WRITABLE.rawValue != 0 { events.insert(.writable) }
        work?(events)
    }
}
