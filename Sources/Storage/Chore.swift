/// What the writer's thread does between transactions, besides storing.
enum Chore {
    /// Empties the log, so that nothing deleted is left in it.
    case emptyLog
    /// Has all that the journal holds in the tables.
    case foldJournal
    /// Takes the room that is kept for deleting.
    case makeReserve
}

/// A chore, and who is told of it.
package struct QueuedChore {
    package typealias Completion = @Sendable (StorageError?) -> Void

    /// How long a reader may keep the log from being emptied, in milliseconds.
    private static let patienceMilliseconds: UInt64 = 10_000
    private static let retryMilliseconds: UInt64 = 20

    let chore: Chore
    let then: Completion
    private(set) var due: MonotonicTime
    private let deadline: MonotonicTime

    init(_ chore: Chore, then: @escaping Completion) {
        self.chore = chore
        self.then = then
        due = .now
        deadline = due.after(milliseconds: QueuedChore.patienceMilliseconds)
    }

    var isLate: Bool { deadline <= .now }

    /// The same, later.
    var again: QueuedChore {
        var again = self
        again.due = MonotonicTime.now.after(milliseconds: QueuedChore.retryMilliseconds)
        return again
    }
}

extension Writer {
    /// Empties the log: what was deleted before is in no file any more once it is told so.
    ///
    /// - Parameter then: told why not, where a reader or a full disk keeps the log where it is.
    package func emptyLog(then: @escaping QueuedChore.Completion) {
        perform(.emptyLog, then: then)
    }

    /// Takes the room that is kept for deleting.
    package func makeReserve(then: @escaping QueuedChore.Completion) {
        perform(.makeReserve, then: then)
    }
}
