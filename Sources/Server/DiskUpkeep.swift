import Chat
import NetworkIO
import Node
import Storage
import StorePort
import Wire

/// The maintenance of a disk, besides storing and reading, passed on to the database.
extension DiskStore {
    /// The free space of the disk and the size of SQLite's log; read at each tick, and while much
    /// is written.
    var diskSpace: DiskSpace? {
        if let error = database.displaced { reportFatal(error) }
        do throws(StorageError) {
            return try DiskSpace(of: folder)
        } catch {
            return nil
        }
    }

    func forgetLoss() { database.forgetLoss() }

    func setUrgent(_ isUrgent: Bool) { self.isUrgent.withLock { $0 = isUrgent } }

    func makeReserve() {
        // Whether it could be made is seen at the next reading of the disk's space.
        database.writer.makeReserve { _ in }
    }

    func emptyLog() {
        let node = node.withLock { $0 }
        database.writer.emptyLog { [loop] error in
            loop.post {
                node?.assumeIsolated { node in
                    if let error, error.isFatal {
                        node.onDiskFailed(error.sentence)
                    } else {
                        node.onLogEmptied(failure: error?.sentence)
                    }
                }
            }
        }
    }
}

extension DiskStore {
    func check(
        _ shard: ShardID, after mark: (any CheckMark)?, rowsMax: Int
    ) throws(StoreFailure) -> CheckedPart {
        try read { () throws(StorageError) in
            try database.reader.checkedPart(
                of: shard, after: mark as? WalkPosition, rowsMax: rowsMax)
        }
    }

    /// Returns the path of a backup of this name.
    private static func path(_ file: String, in folder: String) -> String {
        file.hasPrefix("/") ? file : folder + "/backups/" + file
    }

    func backUp(to file: String) {
        let node = node.withLock { $0 }
        let path = DiskStore.path(file, in: folder)
        let tell: @Sendable (Result<UInt64, StorageError>) -> Void = { [loop] result in
            loop.post {
                node?.assumeIsolated {
                    $0.onBackedUp(result.map { (path, $0) }.mapError(BackupFailure.init))
                }
            }
        }
        do throws(StorageError) {
            if path != file { try Folder.makeOne(folder + "/backups") }
            try database.backUp(to: path, then: tell)
        } catch {
            tell(.failure(error))
        }
    }
}

extension BackupFailure {
    init(_ error: StorageError) {
        self =
            switch error {
            case .exists: .exists
            case .noFolder, .notFolder: .noFolder
            case .readOnly: .forbidden
            case .full: .full
            default: .failed(error.sentence)
            }
    }
}
