import NetworkIO

/// A timer that measures for how long this process itself stood still: no answer is seen meanwhile.
@Stage final class Pulse {
    private static let milliseconds: UInt64 = 10

    private var timer: Timer?
    private var beat = Stage.loop.nanoseconds
    private var longestNanoseconds: UInt64 = 0

    init() {
        timer = Timer(on: Stage.loop, everyMilliseconds: Self.milliseconds) { [weak self] in
            self?.onBeat()
        }
    }

    private func onBeat() {
        let now = Stage.loop.nanoseconds
        longestNanoseconds = max(longestNanoseconds, now - beat)
        beat = now
    }

    /// Returns the longest pause between two beats since the last call, in milliseconds.
    func takeLongest() -> Double {
        onBeat()
        defer { longestNanoseconds = 0 }
        return Double(longestNanoseconds) / 1e6
    }

    func stop() { timer?.cancel() }
}
