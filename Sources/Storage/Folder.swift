import Glibc

/// The data folder, which belongs to one process at a time.
package struct Folder {
    let path: String
    /// Open for as long as the folder is held: the lock goes with it, also when the process is
    /// killed.
    private let lock: Int32

    /// Makes the folder where there is none, and takes it.
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

    /// What the lock is on.
    var lockIdentity: FileIdentity? { FileStatus(of: lock)?.identity }

    func release() { Glibc.close(lock) }

    /// Makes what has been created, renamed or removed in it survive a loss of power.
    func sync() throws(StorageError) { try Folder.sync(path) }

    private static func make(_ path: String) throws(StorageError) {
        guard access(path, F_OK) != 0 else { return }
        let parent = parent(of: path)
        if parent != path { try make(parent) }
        // People's messages: nobody else's to read.
        guard mkdir(path, 0o700) == 0 || errno == EEXIST else {
            throw .system(doing: "making \(path)")
        }
        try sync(parent)
    }

    /// Makes what was made or named under this path survive a loss of power.
    static func syncParent(of path: String) throws(StorageError) { try sync(parent(of: path)) }

    /// Makes a folder in one that is there, unless it is there.
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

/// The head of an SQLite file, read without SQLite: opening one to look may already change it.
struct FileHead {
    private static let magic = Array("SQLite format 3\0".utf8)
    private static let bytesCount = 100

    /// Whether no process has written it with a log since it was made, as a backup.
    let isWithoutLog: Bool
    let formatNumber: Int64
    let applicationID: Int64

    /// - Returns: nil where there is no file.
    /// - Throws: `StorageError.foreignFile` where it is not one of SQLite's.
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
