import CLibuv

/// A signal of the process as an event on a loop, outside the signal handler.
///
/// The loop keeps it alive until it is cancelled or the loop ends; from then on the signal has its
/// default effect again, unless another watcher is left.
package final class SignalWatcher: LoopHandle {
    private var work: (() -> Void)?

    package init(
        _ signal: Int32, on loop: EventLoop, _ work: @escaping () -> Void
    ) throws(NetworkError) {
        loop.checkConfined()
        self.work = work
        super.init(owning: try Self.start(signal, on: loop), on: loop)
    }

    /// Stops the watcher for good; harmless when repeated.
    package func cancel() { closeHandle() }

    override func handleDidClose() { work = nil }

    private static func start(
        _ signal: Int32, on loop: EventLoop
    ) throws(NetworkError) -> UnsafeMutableRawPointer {
        let memory = allocate(UV_SIGNAL)
        let watcher = memory.assumingMemoryBound(to: uv_signal_t.self)
        let made = uv_signal_init(loop.raw, watcher)
        guard made == 0 else {
            memory.deallocate()
            throw NetworkError(made, doing: "preparing to watch signals")
        }
        let started = uv_signal_start(
            watcher,
            { watcher, _ in
                guard let data = watcher?.pointee.data else { return }
                Unmanaged<SignalWatcher>.fromOpaque(data).takeUnretainedValue().onSignal()
            }, signal)
        guard started == 0 else {
            discard(memory)
            throw NetworkError(started, doing: "watching signal \(signal)")
        }
        return memory
    }

    private func onSignal() {
        guard !isClosing else { return }
        work?()
    }
}
