import CSQLite
import Chat
import Glibc
import Wire

/// What can go wrong between this node and its data folder.
package enum StorageError: Error, Hashable, Sendable {
    /// Another process, or another `Database` of this one, has the folder.
    case folderInUse
    /// Written by a later version, whose number this is: nothing was changed.
    case newerFormat(Int)
    /// A file of that name which no version of this program wrote: nothing was changed.
    case foreignFile
    /// What was named as the folder is something else.
    case notFolder
    /// The file is damaged beyond single records.
    case corrupt(doing: String)
    /// One document's bytes are not what was written: set it aside and have it sent again.
    case badRecord(ShardID, DocumentKey)
    /// A row by which documents of the shard are found is damaged: the tables that lead to its
    /// documents have to be made anew from those.
    case badIndex(ShardID)
    /// The disk failed, perhaps in a sync: nobody knows what it holds, so the process has to end.
    ///
    /// The code is SQLite's extended one, or an `errno` where it is positive and below 200 and
    /// what was being done concerns the folder.
    case io(code: Int32, doing: String)
    /// The file under this name is not the one that is written: it was removed, moved or replaced.
    case displaced(String)
    /// Another program has locked the database: nothing was written.
    case locked
    /// Something is there already under the name of what was to be made.
    case exists
    /// There is no such folder.
    case noFolder
    /// Not to be written, or not by this user.
    case readOnly
    case full
    /// A value for which the tables have no room: said, never cut.
    case unfit(String)
    /// Built on the state of a transaction that failed.
    case builtOnFailure
    /// Asked after `close`.
    case closed
    /// SQLite said no for a reason that is nobody's disk: its code, and what was being done.
    case refused(code: Int32, doing: String)
}

extension StorageError {
    /// What a result code means that was given on this connection.
    ///
    /// SQLite knows one way of having no room; a limit to the size of files and a quota are two
    /// more.
    init(sqlite code: Int32, on connection: OpaquePointer?, doing: String) {
        let isWriting = [StorageError.noRoomToWrite, StorageError.noRoomToTruncate].contains(code)
        if isWriting, !StorageError.lastErrors(on: connection).isDisjoint(with: noRoomErrors) {
            self = .full
        } else {
            self.init(sqlite: code, doing: doing)
        }
    }

    /// What the system last said of the file and of its log.
    ///
    /// Not what it said last: undoing the transaction has asked more of it since.
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

    /// What an (extended) result code of SQLite means.
    init(sqlite code: Int32, doing: String) {
        self =
            switch code & 0xFF {
            case SQLITE_FULL: .full
            // The index of the log grows with it, and says so in its own way.
            case SQLITE_IOERR where code == StorageError.noRoomForIndex: .full
            case SQLITE_READONLY: .readOnly
            case SQLITE_BUSY: .locked
            case SQLITE_CORRUPT, SQLITE_NOTADB: .corrupt(doing: doing)
            case SQLITE_IOERR, SQLITE_CANTOPEN: .io(code: code, doing: doing)
            default: .refused(code: code, doing: doing)
            }
    }

    /// `SQLITE_IOERR_WRITE` and `SQLITE_IOERR_TRUNCATE`.
    private static let noRoomToWrite = SQLITE_IOERR | 3 << 8
    private static let noRoomToTruncate = SQLITE_IOERR | 6 << 8
    /// `SQLITE_IOERR_SHMSIZE`.
    static let noRoomForIndex = SQLITE_IOERR | 19 << 8

    /// What the system call that has just failed says.
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

/// What the system says where a file may not become longer.
private let noRoomErrors: Set<Int32> = [ENOSPC, EFBIG, EDQUOT]
