import Glibc
import Wire

/// The thread that writes: whatever waits for it becomes one transaction, and one sync.
///
/// Batches are stored in the order in which they were submitted and completed in that order, on
/// the writer's thread. Where a transaction fails, it is rolled back as a whole, each of its
/// batches is told, and the writer goes on with the next.
// SAFETY: `file` belongs to the writer's thread from `start` to its end; all else is under
// `monitor`.
package final class Writer: @unchecked Sendable {
    typealias Completion = @Sendable (Result<StoredPlace, StorageError>) -> Void

    struct Queued {
        let batch: WriteBatch
        let bytesCount: Int
        let then: Completion
    }

    /// The most rows in one transaction, but for a batch that has more alone: some 50 ms of work,
    /// so that the first of many who wait is not kept for the last.
    package static let rowsPerTransactionMax = 4_096
    /// The most bytes in one transaction, but for a batch that has more alone: 4 MiB.
    static let bytesPerTransactionMax = 4 << 20

    private let file: WriterFile
    private let reserve: Reserve?
    private let monitor = Monitor()
    private var waiting: [Queued] = []
    private var bytesWaiting = 0
    private var failuresCount = 0
    private var tasks: [QueuedTask] = []
    private var isClosing = false
    private var thread: pthread_t?

    /// - Parameters:
    ///   - reserve: what is given up where a full disk refuses a deletion.
    ///   - places: where a restart looks for what is written.
    ///   - onFolded: told, on the writer's thread, of each memtable of the write log that is in the
    ///     tables.
    ///   - onFailure: told there, once, of the failure after which nothing is stored any more.
    init(
        _ connection: Connection, _ limits: WriteLogLimits, reserve: Reserve?,
        in folder: String, places: DataPlaces,
        onFolded: @escaping @Sendable (UInt64) -> Void,
        onFailure: @escaping @Sendable (StorageError) -> Void
    ) throws(StorageError) {
        file = try WriterFile(
            connection, limits, in: folder, places: places, onFolded: onFolded,
            onFailure: onFailure)
        self.reserve = reserve
    }

    /// Bytes submitted and not completed; a caller that sees too many stops taking requests.
    package var queuedBytes: Int { monitor.withLock { bytesWaiting } }

    /// How many transactions have failed, batches refused for what is in them included; see
    /// `WriteBatch.failuresKnown`.
    package var failures: Int { monitor.withLock { failuresCount } }

    /// Has the batch stored; from any thread.
    ///
    /// - Parameter then: told where on disk it is, or why it is not.
    func submit(_ batch: WriteBatch, then: @escaping Completion) {
        let queued = Queued(batch: batch, bytesCount: batch.bytesCount, then: then)
        let isTaken = monitor.withLock {
            guard !isClosing else { return false }
            waiting.append(queued)
            bytesWaiting += queued.bytesCount
            return true
        }
        guard isTaken else { return then(.failure(.closed)) }
        monitor.signal()
    }

    /// Has a maintenance task done before anything else; from any thread.
    func perform(_ task: MaintenanceTask, then: @escaping QueuedTask.Completion) {
        let isTaken = monitor.withLock {
            guard !isClosing else { return false }
            tasks.append(QueuedTask(task, then: then))
            return true
        }
        guard isTaken else { return then(.closed) }
        monitor.signal()
    }

    func start() throws(StorageError) {
        thread = try BlockingThread.start(doing: "starting the writer's thread") { self.run() }
    }

    /// Stores what waits, empties the log and ends the thread.
    func close() {
        let running = monitor.withLock {
            isClosing = true
            defer { thread = nil }
            return thread
        }
        monitor.signal()
        guard let running else { return }
        precondition(pthread_equal(running, pthread_self()) == 0, "a completion does not close")
        pthread_join(running, nil)
    }
}

/// What the thread does.
extension Writer {
    private enum Turn {
        case store([Queued])
        case refuse(Queued, StorageError)
        case flush
        case perform(QueuedTask)
        case truncate
        case end
    }

    private func run() {
        file.keepLogReady()
        while true {
            switch monitor.withLock(nextTurn) {
            case .store(let batches): complete(batches, store(batches.map(\.batch)))
            case .perform(let task): perform(task)
            case .refuse(let queued, let error): complete([queued], .failure(error))
            case .flush: file.flushSlice()
            case .truncate: file.truncateLog()
            case .end:
                file.close()
                for task in monitor.withLock({ tasks }) { task.then(.closed) }
                return
            }
            file.noteLog()
            file.keepLogShort()
            file.keepLogReady()
        }
    }

    /// Waits until there is something to do; under the lock.
    private func nextTurn() -> Turn {
        while true {
            let now = MonotonicTime.now
            if let task = tasks.first, task.due <= now {
                return .perform(tasks.removeFirst())
            }
            if let due = file.truncationDue, due <= now {
                // Nobody's text is purged from a write log that grows all the time.
                return file.isTruncationBlocked ? .flush : .truncate
            }
            if !waiting.isEmpty { return takeTransaction() }
            if isClosing { return .end }
            let foldingDue = file.foldingDue
            if let foldingDue, foldingDue <= now { return .flush }
            let dues = [file.truncationDue, foldingDue, tasks.first?.due]
            monitor.wait(until: dues.compactMap(\.self).min())
        }
    }

    /// The longest run of batches from the head that may share a transaction, or the head alone
    /// where it must not be stored.
    private func takeTransaction() -> Turn {
        var (count, rows, bytes) = (0, 0, 0)
        for queued in waiting {
            rows += queued.batch.rowsCount
            bytes += queued.bytesCount
            let isTooMuch =
                rows > Writer.rowsPerTransactionMax || bytes > Writer.bytesPerTransactionMax
            if count > 0, isTooMuch { break }
            if let error = objection(to: queued.batch) {
                if count == 0 { return .refuse(waiting.removeFirst(), error) }
                break
            }
            count += 1
        }
        let taken = Array(waiting[..<count])
        waiting.removeFirst(count)
        return .store(taken)
    }

    /// Stores all of it or nothing, on what is kept for deleting where nothing else is left.
    private func store(_ batches: [WriteBatch]) -> Result<StoredPlace, StorageError> {
        let outcome = file.store(batches)
        guard outcome == .failure(.full), batches.contains(where: \.mayUseReserve),
            reserve?.giveUp() ?? false
        else { return outcome }
        return file.store(batches)
    }

    private func perform(_ queued: QueuedTask) {
        switch queued.task {
        case .emptyLog:
            let error = file.emptyLog()
            guard error == .locked, !queued.isLate else { return queued.then(error) }
            monitor.withLock { tasks.append(queued.again) }
        case .flushWriteLog: queued.then(file.flushWriteLog())
        case .makeReserve:
            do throws(StorageError) {
                try reserve?.make()
                queued.then(nil)
            } catch {
                queued.then(error)
            }
        }
    }

    private func objection(to batch: WriteBatch) -> StorageError? {
        if let known = batch.failuresKnown, known < failuresCount { return .builtOnFailure }
        return batch.misfit.map(StorageError.unfit)
    }

    private func complete(_ batches: [Queued], _ outcome: Result<StoredPlace, StorageError>) {
        let bytes = batches.reduce(0) { $0 + $1.bytesCount }
        monitor.withLock {
            bytesWaiting -= bytes
            if case .failure(let error) = outcome, error != .builtOnFailure { failuresCount += 1 }
        }
        for queued in batches { queued.then(outcome) }
    }
}
