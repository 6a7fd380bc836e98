import Glibc

/// The disk space that a database takes, in bytes.
package struct DiskUsage: Hashable, Sendable {
    package let databaseBytes: UInt64
    /// The size of the write-ahead log; 0 where there is none.
    package let logBytes: UInt64
    /// The space that this process may still use.
    package let freeBytes: UInt64

    /// - Returns: nil where the file or its disk cannot be queried.
    init?(of file: String) {
        guard let databaseBytes = FileStatus(of: file)?.bytesCount else { return nil }
        var disk = statvfs()
        guard statvfs(file, &disk) == 0 else { return nil }
        self.databaseBytes = databaseBytes
        logBytes = FileStatus(of: file + "-wal")?.bytesCount ?? 0
        freeBytes = UInt64(disk.f_bavail) * UInt64(disk.f_frsize)
    }
}

extension Database {
    /// The disk space that the database takes; any thread may read it.
    package var usage: DiskUsage? { DiskUsage(of: file) }
}
