import CSQLite

/// A node's durable state: one SQLite file in a folder that at most one process uses at a time.
///
/// `Writer` has a connection and a thread of its own. `Reader` has another connection and is called
/// synchronously on the event loop's thread: finding the rows of a page of history takes 10 µs, and
/// switching to another thread and back takes as long. Reads return only committed data.
// SAFETY: only `close` and `backUp` change properties, and only the reading thread calls them.
package final class Database: @unchecked Sendable {
    /// The time for which a statement waits while another program has locked the file, in
    /// milliseconds; this process's own connections never make each other wait.
    static let busyMillisecondsMax: Int32 = 1_000

    /// A function that runs closures on the reading thread, in the order in which it received them.
    package typealias Courier = @Sendable (@escaping @Sendable () -> Void) -> Void

    package let reader: Reader
    package let writer: Writer
    private let folder: Folder
    let file: String
    /// A description of the acknowledged commits of a previous process that are damaged or missing;
    /// nil if there are none.
    package let loss: String?
    private let places = DataPlaces()
    private let courier: Courier
    private let failureReport = FailureReport()
    /// The backup that this process started last; nil before the first.
    var backup: Backup?
    private(set) var isClosed = false

    /// Opens the file in `folder`; creates the folder and the file if they are missing.
    ///
    /// - Parameters:
    ///   - reserve: disk space kept for deletions on a full disk; allocated if the disk has the
    ///     space.
    ///   - courier: runs the writer's completions on the reading thread.
    package init(
        folder path: String, reserve: Reserve? = nil, writeLog limits: WriteLogLimits = .standard,
        courier: @escaping Courier
    ) throws(StorageError) {
        self.courier = courier
        let folder = try Folder(path)
        file = path + "/" + Format.fileName
        do throws(StorageError) {
            let opening = Opening(
                file: file, reserve: reserve, limits: limits, courier: courier,
                failureReport: failureReport, places: places)
            loss = try opening.prepare(in: folder)
            places.add(path + "/lock", folder.lockIdentity)
            places.add(file, FileStatus(of: file)?.identity)
            (reader, writer) = try opening.open(in: path)
        } catch {
            folder.release()
            throw error
        }
        self.folder = folder
    }

    deinit { close() }

    /// Stores a batch; may be called on any thread.
    ///
    /// - Parameter then: called on the reading thread with nil once the batch is on disk and
    ///   visible to `Reader`, or with the error.
    package func submit(
        _ batch: WriteBatch, then: @escaping @Sendable (StorageError?) -> Void
    ) {
        writer.submit(batch) { [reader, courier] outcome in
            courier {
                switch outcome {
                case .success(let place):
                    reader.noteStored(batch, place)
                    then(nil)
                case .failure(let error): then(error)
                }
            }
        }
    }

    /// Registers a listener, called on the reading thread, for damage that the writer finds and for
    /// the failure after which nothing is stored any more, even if no commit is waiting.
    package func onFailure(_ body: @escaping @Sendable (StorageError) -> Void) {
        failureReport.setListener(body)
    }

    /// The error if a restart would not find the open data files; otherwise nil.
    ///
    /// Any thread may read this property.
    package var displaced: StorageError? { places.displaced.map(StorageError.displaced) }

    /// Removes the note of lost commits, which have been fetched from other nodes or are given up.
    package func forgetLoss() { LossNote(in: folder.path).remove() }

    /// Stores all submitted batches, empties both logs and unlocks the folder.
    package func close() {
        guard !isClosed else { return }
        isClosed = true
        backup?.cancel()
        reader.close()
        writer.close()
        folder.release()
    }
}
