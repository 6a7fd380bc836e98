/// The tasks that the writer's thread performs between transactions.
enum MaintenanceTask {
    /// Empties both logs, so that no deleted text remains in them.
    case emptyLog
    /// Flushes all of the write log into the tables.
    case flushWriteLog
    /// Allocates the disk space that is reserved for deletions.
    case makeReserve
}

/// A maintenance task and its completion.
package struct QueuedTask {
    package typealias Completion = @Sendable (StorageError?) -> Void

    /// The time for which the task is retried while a reader uses the log, in milliseconds.
    private static let patienceMilliseconds: UInt64 = 10_000
    private static let retryMilliseconds: UInt64 = 20

    let task: MaintenanceTask
    let then: Completion
    private(set) var due: MonotonicTime
    private let deadline: MonotonicTime

    init(_ task: MaintenanceTask, then: @escaping Completion) {
        self.task = task
        self.then = then
        due = .now
        deadline = due.after(milliseconds: QueuedTask.patienceMilliseconds)
    }

    var isLate: Bool { deadline <= .now }

    /// The same task with a new due time after a pause.
    var again: QueuedTask {
        var again = self
        again.due = MonotonicTime.now.after(milliseconds: QueuedTask.retryMilliseconds)
        return again
    }
}

extension Writer {
    /// Empties both logs; afterwards no file contains a text that was deleted before the call.
    ///
    /// - Parameter then: called with nil, or with the error if a reader or a full disk prevents it.
    package func emptyLog(then: @escaping QueuedTask.Completion) {
        perform(.emptyLog, then: then)
    }

    /// Allocates the disk space that is reserved for deletions.
    package func makeReserve(then: @escaping QueuedTask.Completion) {
        perform(.makeReserve, then: then)
    }
}
