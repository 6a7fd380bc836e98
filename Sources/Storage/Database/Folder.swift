import Glibc

/// The data folder, which one process locks at a time.
package struct Folder {
    let path: String
    /// The lock's file descriptor, open until `release`; the lock ends with the process.
    private let lock: Int32

    /// Creates the folder if it does not exist, and locks it.
    init(_ path: String) throws(StorageError) {
        self.path = path
        try Folder.make(path)
        lock = open(path + "/lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard lock >= 0 else { throw .system(doing: "opening the lock of \(path)") }
        guard flock(lock, LOCK_EX | LOCK_NB) == 0 else {
            let error: StorageError =
                errno == EWOULDBLOCK ? .folderInUse : .system(doing: "locking \(path)")
            Glibc.close(lock)
            throw error
        }
    }

    /// The identity of the lock file.
    var lockIdentity: FileIdentity? { FileStatus(of: lock)?.identity }

    func release() { Glibc.close(lock) }

    /// Syncs the folder, so that created, renamed and removed files in it survive a power loss.
    func sync() throws(StorageError) { try Folder.sync(path) }

    private static func make(_ path: String) throws(StorageError) {
        guard access(path, F_OK) != 0 else { return }
        let parent = parent(of: path)
        if parent != path { try make(parent) }
        // The folder contains people's messages, so only this user may read it.
        guard mkdir(path, 0o700) == 0 || errno == EEXIST else {
            throw .system(doing: "making \(path)")
        }
        try sync(parent)
    }

    /// Syncs the parent of `path`, so that a file created or renamed in it survives a power loss.
    static func syncParent(of path: String) throws(StorageError) { try sync(parent(of: path)) }

    /// Creates a folder in an existing one, unless it exists.
    package static func makeOne(_ path: String) throws(StorageError) {
        guard mkdir(path, 0o700) != 0 else { return try syncParent(of: path) }
        guard errno == EEXIST else { throw .system(doing: "making \(path)") }
    }

    static func parent(of path: String) -> String {
        let trimmed = path.reversed().drop { $0 == "/" }
        let rest = trimmed.drop { $0 != "/" }.drop { $0 == "/" }
        guard rest.isEmpty else { return String(rest.reversed()) }
        return path.hasPrefix("/") ? "/" : "."
    }

    private static func sync(_ path: String) throws(StorageError) {
        let folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard folder >= 0 else { throw .system(doing: "opening \(path)") }
        defer { Glibc.close(folder) }
        guard fsync(folder) == 0 else { throw .system(doing: "syncing \(path)") }
    }
}

/// The head of an SQLite file, read without SQLite, which may change a file that it opens.
struct FileHead {
    private static let magic = Array("SQLite format 3\0".utf8)
    private static let bytesCount = 100

    /// Whether the file has never been opened with a write-ahead log; this is so for a backup.
    let isWithoutLog: Bool
    let formatNumber: Int64
    let applicationID: Int64

    /// - Returns: nil if the file does not exist.
    /// - Throws: `StorageError.foreignFile` if the file is not an SQLite file.
    init?(of path: String) throws(StorageError) {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else {
            guard errno == ENOENT else { throw .system(doing: "opening \(path)") }
            return nil
        }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: FileHead.bytesCount)
        let count = read(file, &bytes, FileHead.bytesCount)
        guard count >= 0 else { throw .system(doing: "reading \(path)") }
        guard count == FileHead.bytesCount, bytes.starts(with: FileHead.magic) else {
            throw .foreignFile
        }
        isWithoutLog = bytes[18] == 1
        formatNumber = FileHead.number(in: bytes[60..<64])
        applicationID = FileHead.number(in: bytes[68..<72])
    }

    private static func number(in bytes: ArraySlice<UInt8>) -> Int64 {
        bytes.reduce(0) { $0 << 8 | Int64($1) }
    }
}
