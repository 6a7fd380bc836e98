import Glibc
import Wire

/// The writing thread, which stores all waiting batches in one transaction with one sync.
///
/// Batches are stored and completed in the order in which they were submitted; completions are
/// called on the writer's thread. If a transaction fails, it is rolled back as a whole, each of its
/// batches completes with the error, and the writer continues with the next.
// SAFETY: only the writer's thread uses `file` after `start`; `monitor` guards all other state.
package final class Writer: @unchecked Sendable {
    typealias Completion = @Sendable (Result<StoredPlace, StorageError>) -> Void

    struct Queued {
        let batch: WriteBatch
        let bytesCount: Int
        let then: Completion
    }

    /// The greatest number of rows in a transaction of several batches: about 50 ms of work, a
    /// limit for the time that the first batch waits for the last.
    package static let rowsPerTransactionMax = 4_096
    /// The greatest size of a transaction of several batches, in bytes: 4 MiB.
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
    ///   - reserve: removed if a full disk refuses a deletion.
    ///   - places: the paths where a restart looks for the files.
    ///   - onFolded: called on the writer's thread for each memtable that has been flushed.
    ///   - onFailure: called on the writer's thread for damage, and once for the failure after
    ///     which nothing is stored any more.
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

    /// The size in bytes of the batches that are submitted and not completed; if it is too large,
    /// the caller stops accepting requests.
    package var queuedBytes: Int { monitor.withLock { bytesWaiting } }

    /// The number of failed transactions, including batches that were refused for their content;
    /// see `WriteBatch.failuresKnown`.
    package var failures: Int { monitor.withLock { failuresCount } }

    /// Queues a batch; any thread may call it.
    ///
    /// - Parameter then: called with the place of the batch, or the error.
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

    /// Queues a maintenance task, which runs before all waiting batches; any thread may call it.
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

    /// Stores the queued batches, empties the logs and ends the thread.
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

/// The loop of the writer's thread.
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

    /// Waits until there is work, and returns the next piece of it; called under the lock.
    private func nextTurn() -> Turn {
        while true {
            let now = MonotonicTime.now
            if let task = tasks.first, task.due <= now {
                return .perform(tasks.removeFirst())
            }
            if let due = file.truncationDue, due <= now {
                // The write log is flushed before the truncation, as it may contain purged texts.
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

    /// Removes the longest run of batches that may share a transaction from the head of the queue,
    /// or only the first batch if it has to be refused.
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

    /// Stores all batches or none of them; removes the reserve if a deletion needs its space.
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
