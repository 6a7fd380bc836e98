import CLibuv
import Glibc

/// A watcher that reports when a descriptor opened by other code, such as standard input, can be
/// read.
///
/// The descriptor keeps its mode: libuv would make it non-blocking, and with it everything that
/// shares it, such as the terminal of the shell that started this process.
package final class DescriptorWatcher: LoopHandle {
    private var work: (() -> Void)?

    /// Throws for a plain file, which can always be read.
    package init(
        _ descriptor: Int32, on loop: EventLoop, _ work: @escaping () -> Void
    ) throws(NetworkError) {
        loop.checkConfined()
        self.work = work
        super.init(owning: try Self.start(descriptor, on: loop), on: loop)
    }

    /// Stops the watcher for good; harmless when repeated.
    package func cancel() { closeHandle() }

    override func handleDidClose() { work = nil }

    private static func start(
        _ descriptor: Int32, on loop: EventLoop
    ) throws(NetworkError) -> UnsafeMutableRawPointer {
        let memory = allocate(UV_POLL)
        let poll = memory.assumingMemoryBound(to: uv_poll_t.self)
        let mode = fcntl(descriptor, F_GETFL)
        let made = uv_poll_init(loop.raw, poll, descriptor)
        if mode >= 0 { _ = fcntl(descriptor, F_SETFL, mode) }
        guard made == 0 else {
            memory.deallocate()
            throw NetworkError(made, doing: "watching a descriptor")
        }
        let started = uv_poll_start(poll, Int32(UV_READABLE.rawValue | UV_DISCONNECT.rawValue)) {
            poll, _, _ in
            guard let data = poll?.pointee.data else { return }
            Unmanaged<DescriptorWatcher>.fromOpaque(data).takeUnretainedValue().onReadable()
        }
        guard started == 0 else {
            discard(memory)
            throw NetworkError(started, doing: "watching a descriptor")
        }
        return memory
    }

    private func onReadable() {
        guard !isClosing else { return }
        work?()
    }
}
