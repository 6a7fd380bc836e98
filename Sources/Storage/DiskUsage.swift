import Glibc

/// What a database takes of its disk, in bytes.
package struct DiskUsage: Hashable, Sendable {
    package let databaseBytes: UInt64
    /// Of the log in front of the database; 0 where there is none.
    package let logBytes: UInt64
    /// What is left for this process on the disk.
    package let freeBytes: UInt64

    /// - Returns: nil where the disk does not tell.
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
    /// What it takes of its disk; from any thread.
    package var usage: DiskUsage? { DiskUsage(of: file) }
}
