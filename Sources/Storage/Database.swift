import CSQLite

/// A node's durable state: one SQLite file in a folder that one process holds at a time.
///
/// `Writer` has a connection and a thread of its own; `Reader` another connection, read from
/// synchronously by the thread of the event loop: to find the rows of a page of history takes
/// 10 µs, and to cross to another thread and back as long. Readers see what is committed.
// SAFETY: nothing in it changes but by `close` and `backUp`, which one thread calls, that which
// reads.
package final class Database: @unchecked Sendable {
    /// How long a statement waits for another program that has the file; no thread of ours makes
    /// another one wait.
    static let busyMillisecondsMax: Int32 = 1_000

    /// Has something run on the thread that reads, in the order in which it was handed in.
    package typealias Courier = @Sendable (@escaping @Sendable () -> Void) -> Void

    package let reader: Reader
    package let writer: Writer
    private let folder: Folder
    let file: String
    /// What acknowledged commits are missing from what a process before this one left.
    package let loss: String?
    private let places = DataPlaces()
    private let courier: Courier
    private let failureReport = FailureReport()
    /// The last that was begun.
    var backup: Backup?
    private(set) var isClosed = false

    /// Opens the file in `folder`; makes both where they are missing.
    ///
    /// - Parameters:
    ///   - reserve: room for deleting on a full disk; taken where there is any.
    ///   - courier: brings what the writer has done to the thread that reads.
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

    /// Has the batch stored; from any thread.
    ///
    /// - Parameter then: told on the thread that reads when it is on disk, where that thread finds
    ///   it from then on, or why it is not.
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

    /// Has somebody told, on the thread that reads, of damage that the writer met and of the
    /// failure after which nothing is stored any more, also where nobody waits for a commit.
    package func onFailure(_ body: @escaping @Sendable (StorageError) -> Void) {
        failureReport.tell(body)
    }

    /// Nil as long as a restart would find what is written here; from any thread.
    package var displaced: StorageError? { places.displaced.map(StorageError.displaced) }

    /// What was missing has been fetched, or is given up.
    package func forgetLoss() { LossNote(in: folder.path).remove() }

    /// Stores what was submitted, empties the log and lets go of the folder.
    package func close() {
        guard !isClosed else { return }
        isClosed = true
        backup?.cancel()
        reader.close()
        writer.close()
        folder.release()
    }
}
