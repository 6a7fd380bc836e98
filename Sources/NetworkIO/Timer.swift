import CLibuv

/// Work that the loop does after a time, once or repeatedly, in monotonic time.
///
/// The loop keeps a timer alive until it is cancelled, or has fired if it fires once: dropping the
/// reference does not stop it. The work is released at the same moment.
package final class Timer: LoopHandle {
    private var work: (() -> Void)?
    private let repeats: Bool

    /// Fires at this interval.
    ///
    /// A loop that was held up fires once, not as often as it missed.
    package convenience init(
        on loop: EventLoop, everyMilliseconds interval: UInt64, _ work: @escaping () -> Void
    ) {
        precondition(interval > 0, "a repeating timer needs an interval")
        self.init(on: loop, after: interval, every: interval, work)
    }

    /// Fires once.
    package convenience init(
        on loop: EventLoop, afterMilliseconds delay: UInt64, _ work: @escaping () -> Void
    ) {
        self.init(on: loop, after: delay, every: 0, work)
    }

    private init(
        on loop: EventLoop, after delay: UInt64, every interval: UInt64,
        _ work: @escaping () -> Void
    ) {
        loop.checkConfined()
        self.work = work
        repeats = interval > 0
        let memory = Self.allocate(UV_TIMER)
        let timer = memory.assumingMemoryBound(to: uv_timer_t.self)
        uv_timer_init(loop.raw, timer)
        super.init(owning: memory, on: loop)
        // The loop's time is that of the turn's beginning; a timer counts from the call.
        uv_update_time(loop.raw)
        uv_timer_start(
            timer,
            { timer in
                guard let data = timer?.pointee.data else { return }
                Unmanaged<Timer>.fromOpaque(data).takeUnretainedValue().onTime()
            }, delay, interval)
    }

    /// Stops the timer for good; harmless when repeated.
    package func cancel() { closeHandle() }

    override func handleDidClose() { work = nil }

    private func onTime() {
        if !repeats { closeHandle() }
        work?()
    }
}
