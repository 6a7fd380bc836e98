import Node
import Session

/// An executor that runs every job at once: all of a test is one thread.
final class InlineExecutor: SerialExecutor {
    func enqueue(_ job: consuming ExecutorJob) {
        job.runSynchronously(on: asUnownedSerialExecutor())
    }

    func checkIsolated() {}

    func isIsolatingCurrentContext() -> Bool? { true }
}

/// A clock that stands still until the test moves it.
final class FakeClock: Clock {
    nonisolated(unsafe) var milliseconds: UInt64 = 10_000

    var wallMilliseconds: UInt64 { 784_111_777_000 }
    var microseconds: UInt64 { milliseconds * 1_000 }
}

/// An output that keeps what was written, and plays a client that reads it or does not.
final class FakeOutput: SessionOutput {
    nonisolated(unsafe) var bytes: [UInt8] = []
    nonisolated(unsafe) var queuedBytes = 0
    nonisolated(unsafe) private(set) var isPaused = false
    nonisolated(unsafe) private(set) var isFinished = false
    nonisolated(unsafe) private(set) var isAborted = false

    func write(_ bytes: [UInt8]) { self.bytes += bytes }
    func flush() {}
    func setReadingPaused(_ isPaused: Bool) { self.isPaused = isPaused }
    func finish() { isFinished = true }
    func abort() { isAborted = true }
}
