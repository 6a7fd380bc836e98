/// What the writer's thread does between transactions, besides storing.
enum MaintenanceTask {
    /// Empties the log, so that nothing deleted is left in it.
    case emptyLog
    /// Has all that the write log holds in the tables.
    case flushWriteLog
    /// Takes the room that is kept for deleting.
    case makeReserve
}

/// A maintenance task, and who is told of it.
package struct QueuedTask {
    package typealias Completion = @Sendable (StorageError?) -> Void

    /// How long a reader may keep the log from being emptied, in milliseconds.
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

    /// The same, later.
    var again: QueuedTask {
        var again = self
        again.due = MonotonicTime.now.after(milliseconds: QueuedTask.retryMilliseconds)
        return again
    }
}

extension Writer {
    /// Empties the log: what was deleted before is in no file any more once it is told so.
    ///
    /// - Parameter then: told why not, where a reader or a full disk keeps the log where it is.
    package func emptyLog(then: @escaping QueuedTask.Completion) {
        perform(.emptyLog, then: then)
    }

    /// Takes the room that is kept for deleting.
    package func makeReserve(then: @escaping QueuedTask.Completion) {
        perform(.makeReserve, then: then)
    }
}
