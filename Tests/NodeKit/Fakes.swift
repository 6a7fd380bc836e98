import CRDT
import Chat
import Node
import Session
import Wire

/// An executor that runs every job where it is made: the test's thread is the loop's.
package final class InlineExecutor: SerialExecutor {
    package init() {}

    package func enqueue(_ job: consuming ExecutorJob) {
        UnownedJob(job).runSynchronously(on: asUnownedSerialExecutor())
    }

    package func asUnownedSerialExecutor() -> UnownedSerialExecutor {
        UnownedSerialExecutor(ordinary: self)
    }

    package func checkIsolated() {}

    package func isIsolatingCurrentContext() -> Bool? { true }
}

/// A clock that stands still until a test moves it.
package actor FakeClock: Clock {
    private let executor: any SerialExecutor
    private var passed: UInt64 = 10_000
    private var wall: UInt64 = 1_795_240_800_000
    /// The microseconds that pass between two readings of the clock.
    private var step: UInt64 = 0
    private var steps: UInt64 = 0

    package init(on executor: any SerialExecutor) { self.executor = executor }

    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        executor.asUnownedSerialExecutor()
    }

    package nonisolated var milliseconds: UInt64 { assumeIsolated { $0.passed } }

    package nonisolated var wallMilliseconds: UInt64 { assumeIsolated { $0.wall } }

    package nonisolated var microseconds: UInt64 {
        assumeIsolated {
            $0.steps += $0.step
            return $0.passed * 1_000 + $0.steps
        }
    }

    /// Sets the microseconds that pass between two readings of the clock.
    package nonisolated func setStep(microseconds: UInt64) {
        assumeIsolated { $0.step = microseconds }
    }

    package nonisolated func advance(milliseconds: UInt64) {
        assumeIsolated {
            $0.passed += milliseconds
            $0.wall += milliseconds
        }
    }

    /// Suspends the machine, whose monotonic clock stands still.
    package nonisolated func suspend(milliseconds: UInt64) {
        assumeIsolated { $0.wall += milliseconds }
    }
}

/// Numbers that are all different, the same in every run.
package actor CountingEntropy: Entropy {
    private let executor: any SerialExecutor
    private var last: UInt64 = 0

    package init(on executor: any SerialExecutor) { self.executor = executor }

    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        executor.asUnownedSerialExecutor()
    }

    package nonisolated func next() -> UInt64 {
        assumeIsolated {
            $0.last += 1
            return $0.last
        }
    }
}

/// A host that records what its node reports.
package actor FakeHost: Host {
    private let executor: any SerialExecutor
    package private(set) var lines: [String] = []
    package private(set) var debugLines: [String] = []
    package private(set) var ending: Ending?
    package private(set) var isReady = false
    private var dialed: [String] = []
    /// Does to the clients what a real host does when it is told to end.
    private var onEnd: (@Sendable () -> Void)?

    package init(on executor: any SerialExecutor) { self.executor = executor }

    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        executor.asUnownedSerialExecutor()
    }

    package nonisolated func dial(_ address: String) {
        assumeIsolated { $0.dialed.append(address) }
    }

    package nonisolated func onReady() { assumeIsolated { $0.isReady = true } }

    package nonisolated func end(_ ending: Ending) {
        let then = assumeIsolated { host in
            host.ending = ending
            return host.onEnd
        }
        then?()
    }

    package nonisolated func turnAgain() {}

    package nonisolated func setClientsPaused(_ isPaused: Bool) {}

    package nonisolated func log(_ level: LogLevel, _ line: String) {
        assumeIsolated {
            if level == .debug {
                $0.debugLines.append(line)
            } else {
                $0.lines.append("\(level.rawValue) \(line)")
            }
        }
    }

    package nonisolated var isDebugging: Bool { true }

    package nonisolated var residentBytes: UInt64 { 1_234_567 }

    package nonisolated var usage: ProcessUsage? {
        ProcessUsage(
            residentBytes: 1_234_567, virtualBytes: 9_999_999, cpuMicroseconds: 1_500_000,
            openDescriptors: 12, descriptorsMax: 1_024, startedAtMilliseconds: 1_795_240_800_000)
    }

    package func atEnd(_ work: @escaping @Sendable () -> Void) { onEnd = work }

    package func takeDialed() -> [String] {
        defer { dialed = [] }
        return dialed
    }
}

/// The output that a client receives.
package actor FakeOutput: SessionOutput {
    private let executor: any SerialExecutor
    private var bytes: [UInt8] = []
    package private(set) var isPaused = false
    package private(set) var isFinished = false
    package private(set) var isAborted = false
    /// Whether the client leaves what is written unread.
    private var isClogged = false

    package init(on executor: any SerialExecutor) { self.executor = executor }

    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        executor.asUnownedSerialExecutor()
    }

    package nonisolated func write(_ bytes: [UInt8]) { assumeIsolated { $0.bytes += bytes } }

    package nonisolated func flush() {}

    package nonisolated var queuedBytes: Int {
        assumeIsolated { $0.isClogged ? $0.bytes.count : 0 }
    }

    package nonisolated func setReadingPaused(_ isPaused: Bool) {
        assumeIsolated { $0.isPaused = isPaused }
    }

    package nonisolated func finish() { assumeIsolated { $0.isFinished = true } }

    package nonisolated func abort() {
        assumeIsolated {
            $0.isAborted = true
            $0.bytes = []
        }
    }

    package func clog(_ isClogged: Bool) { self.isClogged = isClogged }

    package func take() -> [UInt8] {
        defer { bytes = [] }
        return bytes
    }
}
