import CSQLite
import Chat
import Glibc
import Wire

/// The errors of the database and its data folder.
package enum StorageError: Error, Hashable, Sendable {
    /// Another process, or another `Database` of this process, has locked the folder.
    case folderInUse
    /// The file was written by a later version, with this format number; nothing was changed.
    case newerFormat(Int)
    /// The file was not written by this program, or has a format that no version writes any more;
    /// nothing was changed.
    case foreignFile
    /// The path of the folder is not a folder.
    case notFolder
    /// The database file is damaged, and not only in single records.
    case corrupt(doing: String)
    /// The bytes of one document are damaged; it has to be removed and fetched from another node.
    case badRecord(ShardID, DocumentKey)
    /// A row of an index of the shard is damaged; the indexes have to be rebuilt from the
    /// documents.
    case badIndex(ShardID)
    /// The disk failed, perhaps in a sync; its content is unknown, so the process has to end.
    ///
    /// The code is SQLite's extended one, or the `errno` of a system call that was made directly.
    case io(code: Int32, doing: String)
    /// The file at this path is not the open data file, which was removed, moved or replaced.
    case displaced(String)
    /// Another program has locked the database; nothing was written.
    case locked
    /// A file already exists at the path of a file that is to be created.
    case exists
    /// A folder in the path of a file does not exist.
    case noFolder
    /// The file system is read-only, or this user may not write the file.
    case readOnly
    /// The disk is full, or a quota or the limit of a file's size is reached.
    case full
    /// A value does not fit in the tables; it is refused and never truncated.
    case unfit(String)
    /// The batch was built on the state of a transaction that failed.
    case builtOnFailure
    /// The database was used after `close`.
    case closed
    /// Any other error of SQLite, not caused by the disk: its code and the operation.
    case refused(code: Int32, doing: String)
}

extension StorageError {
    /// Whether the content of the disk is unknown or lost, so that the process has to end.
    package var isFatal: Bool {
        switch self {
        case .io, .corrupt, .displaced: true
        default: false
        }
    }

    /// Creates the error for a result code of this connection.
    ///
    /// SQLite has one code for a full disk; a limit of file sizes and a quota are reported as write
    /// errors, and also count as `full`.
    init(sqlite code: Int32, on connection: OpaquePointer?, doing: String) {
        let isWriting = [StorageError.noSpaceToWrite, StorageError.noSpaceToTruncate].contains(code)
        if isWriting, !StorageError.lastErrors(on: connection).isDisjoint(with: noSpaceErrors) {
            self = .full
        } else {
            self.init(sqlite: code, doing: doing)
        }
    }

    /// Returns the last `errno` values of the database file and of its log.
    ///
    /// The connection's own last error is not used, since the rollback has made more system calls.
    private static func lastErrors(on connection: OpaquePointer?) -> Set<Int32> {
        var (ofFile, ofLog): (Int32, Int32) = (0, 0)
        sqlite3_file_control(connection, "main", SQLITE_FCNTL_LAST_ERRNO, &ofFile)
        var log: UnsafeMutablePointer<sqlite3_file>?
        sqlite3_file_control(connection, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log)
        if let log, let methods = log.pointee.pMethods {
            _ = methods.pointee.xFileControl(log, SQLITE_FCNTL_LAST_ERRNO, &ofLog)
        }
        return [ofFile, ofLog]
    }

    /// Creates the error for an (extended) result code of SQLite.
    init(sqlite code: Int32, doing: String) {
        self =
            switch code & 0xFF {
            case SQLITE_FULL: .full
            // The log's shared-memory index grows with the log and has an error code of its own.
            case SQLITE_IOERR where code == StorageError.noSpaceForIndex: .full
            case SQLITE_READONLY: .readOnly
            case SQLITE_BUSY: .locked
            case SQLITE_CORRUPT, SQLITE_NOTADB: .corrupt(doing: doing)
            case SQLITE_IOERR, SQLITE_CANTOPEN: .io(code: code, doing: doing)
            default: .refused(code: code, doing: doing)
            }
    }

    /// The codes `SQLITE_IOERR_WRITE` and `SQLITE_IOERR_TRUNCATE`.
    private static let noSpaceToWrite = SQLITE_IOERR | 3 << 8
    private static let noSpaceToTruncate = SQLITE_IOERR | 6 << 8
    /// The code `SQLITE_IOERR_SHMSIZE`.
    static let noSpaceForIndex = SQLITE_IOERR | 19 << 8

    /// Returns the error for the system call that has just failed, from `errno`.
    static func system(doing: String) -> StorageError {
        switch errno {
        case ENOSPC, EDQUOT, EFBIG: .full
        case EROFS, EACCES, EPERM: .readOnly
        case ENOTDIR: .notFolder
        case ENOENT: .noFolder
        case let code: .io(code: code, doing: doing)
        }
    }
}

/// The values of `errno` for a file that cannot grow.
private let noSpaceErrors: Set<Int32> = [ENOSPC, EFBIG, EDQUOT]
