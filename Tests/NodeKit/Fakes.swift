import CRDT
import Chat
import Node
import Session
import Wire

/// An executor that runs every job where it is made: the test's thread is the loop's.
final class InlineExecutor: SerialExecutor {
    func enqueue(_ job: consuming ExecutorJob) {
        UnownedJob(job).runSynchronously(on: asUnownedSerialExecutor())
    }

    func asUnownedSerialExecutor() -> UnownedSerialExecutor {
        UnownedSerialExecutor(ordinary: self)
    }

    func checkIsolated() {}

    func isIsolatingCurrentContext() -> Bool? { true }
}

/// A clock that stands still until a test moves it.
actor FakeClock: Clock {
    private let executor: InlineExecutor
    private var passed: UInt64 = 10_000
    private var wall: UInt64 = 1_795_240_800_000
    /// The microseconds that pass between two readings of the clock.
    private var step: UInt64 = 0
    private var steps: UInt64 = 0

    init(on executor: InlineExecutor) { self.executor = executor }

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    nonisolated var milliseconds: UInt64 { assumeIsolated { $0.passed } }

    nonisolated var wallMilliseconds: UInt64 { assumeIsolated { $0.wall } }

    nonisolated var microseconds: UInt64 {
        assumeIsolated {
            $0.steps += $0.step
            return $0.passed * 1_000 + $0.steps
        }
    }

    /// Sets the microseconds that pass between two readings of the clock.
    nonisolated func setStep(microseconds: UInt64) { assumeIsolated { $0.step = microseconds } }

    nonisolated func advance(milliseconds: UInt64) {
        assumeIsolated {
            $0.passed += milliseconds
            $0.wall += milliseconds
        }
    }

    /// Suspends the machine, whose monotonic clock stands still.
    nonisolated func suspend(milliseconds: UInt64) { assumeIsolated { $0.wall += milliseconds } }
}

/// Numbers that are all different, the same in every run.
actor CountingEntropy: Entropy {
    private let executor: InlineExecutor
    private var last: UInt64 = 0

    init(on executor: InlineExecutor) { self.executor = executor }

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    nonisolated func next() -> UInt64 {
        assumeIsolated {
            $0.last += 1
            return $0.last
        }
    }
}

/// A host that records what its node reports.
actor FakeHost: Host {
    private let executor: InlineExecutor
    private(set) var lines: [String] = []
    private(set) var debugLines: [String] = []
    private(set) var ending: Ending?
    private(set) var isReady = false
    private var dialed: [String] = []
    /// Does to the clients what a real host does when it is told to end.
    private var onEnd: (@Sendable () -> Void)?

    init(on executor: InlineExecutor) { self.executor = executor }

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    nonisolated func dial(_ address: String) { assumeIsolated { $0.dialed.append(address) } }

    nonisolated func onReady() { assumeIsolated { $0.isReady = true } }

    nonisolated func end(_ ending: Ending) {
        let then = assumeIsolated { host in
            host.ending = ending
            return host.onEnd
        }
        then?()
    }

    nonisolated func turnAgain() {}

    nonisolated func setClientsPaused(_ isPaused: Bool) {}

    nonisolated func log(_ level: LogLevel, _ line: String) {
        assumeIsolated {
            if level == .debug {
                $0.debugLines.append(line)
            } else {
                $0.lines.append("\(level.rawValue) \(line)")
            }
        }
    }

    nonisolated var isDebugging: Bool { true }

    nonisolated var residentBytes: UInt64 { 1_234_567 }

    nonisolated var usage: ProcessUsage? {
        ProcessUsage(
            residentBytes: 1_234_567, virtualBytes: 9_999_999, cpuMicroseconds: 1_500_000,
            openDescriptors: 12, descriptorsMax: 1_024, startedAtMilliseconds: 1_795_240_800_000)
    }

    func atEnd(_ work: @escaping @Sendable () -> Void) { onEnd = work }

    func takeDialed() -> [String] {
        defer { dialed = [] }
        return dialed
    }
}

/// The output that a client receives.
actor FakeOutput: SessionOutput {
    private let executor: InlineExecutor
    private var bytes: [UInt8] = []
    private(set) var isPaused = false
    private(set) var isFinished = false
    private(set) var isAborted = false
    /// Whether the client leaves what is written unread.
    private var isClogged = false

    init(on executor: InlineExecutor) { self.executor = executor }

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    nonisolated func write(_ bytes: [UInt8]) { assumeIsolated { $0.bytes += bytes } }

    nonisolated func flush() {}

    nonisolated var queuedBytes: Int { assumeIsolated { $0.isClogged ? $0.bytes.count : 0 } }

    nonisolated func setReadingPaused(_ isPaused: Bool) {
        assumeIsolated { $0.isPaused = isPaused }
    }

    nonisolated func finish() { assumeIsolated { $0.isFinished = true } }

    nonisolated func abort() {
        assumeIsolated {
            $0.isAborted = true
            $0.bytes = []
        }
    }

    func clog(_ isClogged: Bool) { self.isClogged = isClogged }

    func take() -> [UInt8] {
        defer { bytes = [] }
        return bytes
    }
}
