@testable import GrapevineClient

/// The time of a test, which passes only when the test says so.
final class VirtualClock {
    private struct Timer {
        let at: Int64
        let number: Int
        let action: () -> Void

        func isBefore(_ other: Timer) -> Bool { (at, number) < (other.at, other.number) }
    }

    /// Milliseconds since 1970, by the clocks of the nodes.
    private(set) var now: Int64 = 1_795_608_000_000
    /// The timers as a heap: the first one is next.
    private var timers: [Timer] = []
    private var count = 0

    /// Has something done after some milliseconds.
    func after(_ milliseconds: Int64, _ action: @escaping () -> Void) {
        count += 1
        timers.append(Timer(at: now + max(0, milliseconds), number: count, action: action))
        var index = timers.count - 1
        while index > 0, timers[index].isBefore(timers[(index - 1) / 2]) {
            timers.swapAt(index, (index - 1) / 2)
            index = (index - 1) / 2
        }
    }

    /// Has time pass.
    ///
    /// - Parameter check: called after each thing that has happened.
    func run(
        until end: Int64, check: () throws(ModelFailure) -> Void = {}
    ) throws(ModelFailure) {
        while let timer = timers.first, timer.at <= end {
            removeFirst()
            now = max(now, timer.at)
            timer.action()
            try check()
        }
        now = max(now, end)
    }

    private func removeFirst() {
        timers.swapAt(0, timers.count - 1)
        timers.removeLast()
        var index = 0
        while true {
            var least = index
            for child in [2 * index + 1, 2 * index + 2]
            where child < timers.count && timers[child].isBefore(timers[least]) {
                least = child
            }
            if least == index { return }
            timers.swapAt(index, least)
            index = least
        }
    }
}

/// The clocks of a device, of which the one that shows the time may be wrong.
final class DeviceClock: Clock {
    private let clock: VirtualClock
    /// Milliseconds by which the time of the device is ahead.
    private let lead: Int64
    private let start: Int64

    init(_ clock: VirtualClock, lead: Int64) {
        self.clock = clock
        self.lead = lead
        start = clock.now - 1_000
    }

    var elapsed: Int64 { clock.now - start }
    var deviceTime: Int64 { clock.now + lead }
}

/// A violation that a run has found.
struct ModelFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
