import Chat
import NetworkIO
import Node
import Storage
import Wire

/// The maintenance of a disk, besides storing and reading, passed on to the database.
extension DiskStore {
    /// The free space of the disk and the size of SQLite's log; read at each tick, and while much
    /// is written.
    var diskSpace: DiskSpace? {
        if let error = database.displaced { _ = failure(error) }
        do throws(StorageError) {
            let space = try FolderSpace(of: folder)
            return DiskSpace(
                freeBytes: space.freeBytes, totalBytes: space.totalBytes, logBytes: space.logBytes,
                isReserved: space.isReserved)
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
                switch error {
                case .io(_, _), .corrupt(_), .displaced(_):
                    node?.assumeIsolated { $0.onDiskFailed(error?.sentence ?? "") }
                default:
                    node?.assumeIsolated { $0.onLogEmptied(failure: error?.sentence) }
                }
            }
        }
    }
}

extension WalkPosition: CheckMark {}

extension DiskStore {
    func check(
        _ shard: ShardID, after mark: (any CheckMark)?, rowsMax: Int
    ) throws(StoreFailure) -> CheckedPart {
        var part = CheckedPart()
        var found: [(key: DocumentKey, bytes: [UInt8]?)] = []
        do throws(StorageError) {
            part.next = try database.reader.walk(
                shard, after: mark as? WalkPosition, rowsMax: rowsMax
            ) { found.append(($0, $1)) }
            for (key, bytes) in found {
                try check(key, bytes, of: shard, in: &part)
            }
        } catch {
            throw failure(error)
        }
        return part
    }

    private func check(
        _ key: DocumentKey, _ bytes: [UInt8]?, of shard: ShardID, in part: inout CheckedPart
    ) throws(StorageError) {
        guard let bytes else { return part.add(bad: key) }
        let document: Document
        do throws(WireError) {
            document = try Document(key, decoding: bytes)
        } catch .tooLong(_, _) {
            // Not damage: a reader gets the error. What the document adds to the sums is not known.
            part.isKnown = false
            return
        } catch {
            return part.add(bad: key)
        }
        part.add(
            document, bytes: bytes, isIndexed: try database.reader.isIndexed(document, in: shard))
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
