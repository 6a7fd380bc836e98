import Glibc
import NetworkIO
import Testing

@Suite struct TimerTests {
    @Test func `a timer that repeats fires until it is cancelled`() async throws {
        try await withLoop { loop in
            let fired = Watched(0)
            let ticker = try await loop.perform { Ticker(on: loop, fired) }
            try await fired.wait { $0 == 3 }
            // Another timer, started later, for three intervals of the first.
            let later = Watched(false)
            try await loop.perform {
                _ = Timer(on: loop, afterMilliseconds: 6) { later.change { $0 = true } }
            }
            try await later.wait { $0 }
            #expect(fired.state == 3)
            _ = ticker
        }
    }

    @Test func `a timer that fires once fires once, and not early`() async throws {
        try await withLoop { loop in
            let fired = Watched<[UInt64]>([])
            let start = try await loop.perform {
                let start = loop.nanoseconds
                _ = Timer(on: loop, afterMilliseconds: 20) {
                    fired.change { $0.append(loop.nanoseconds) }
                }
                return start
            }
            let times = try await fired.wait { !$0.isEmpty }
            // libuv counts in whole milliseconds.
            #expect(times[0] - start >= 19_000_000)
            let later = Watched(false)
            try await loop.perform {
                _ = Timer(on: loop, afterMilliseconds: 25) { later.change { $0 = true } }
            }
            try await later.wait { $0 }
            #expect(fired.state.count == 1)
        }
    }

    @Test func `a signal becomes an event on the loop`() async throws {
        try await withLoop { loop in
            let isOnLoop = Watched<[Bool]>([])
            try await loop.perform {
                _ = try SignalWatcher(SIGUSR2, on: loop) {
                    isOnLoop.change { $0.append(loop.isCurrent) }
                }
            }
            kill(getpid(), SIGUSR2)
            try await isOnLoop.wait { $0 == [true] }
        }
    }

    @Test func `a signal that nobody can watch is refused`() async throws {
        try await withLoop { loop in
            await #expect(throws: NetworkError.self) {
                try await loop.perform { _ = try SignalWatcher(SIGKILL, on: loop) {} }
            }
        }
    }
}

/// An actor on the loop that cancels its own timer at the third tick.
private actor Ticker {
    private let loop: EventLoop
    private var timer: Timer?
    private var ticks = 0

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    init(on loop: EventLoop, _ fired: Watched<Int>) {
        self.loop = loop
        assumeIsolated { $0.start(fired) }
    }

    private func start(_ fired: Watched<Int>) {
        timer = Timer(on: loop, everyMilliseconds: 2) { [self] in
            ticks += 1
            if ticks == 3 { timer?.cancel() }
            fired.change { $0 += 1 }
        }
    }
}
