import Glibc
import StorePort

extension StoreUsage {
    /// - Returns: nil if the file or its disk cannot be queried.
    init?(of file: String) {
        guard let databaseBytes = FileStatus(of: file)?.bytesCount else { return nil }
        var disk = statvfs()
        guard statvfs(file, &disk) == 0 else { return nil }
        self.init(
            databaseBytes: databaseBytes, logBytes: FileStatus(of: file + "-wal")?.bytesCount ?? 0,
            freeBytes: UInt64(disk.f_bavail) * UInt64(disk.f_frsize))
    }
}

extension Database {
    /// The disk space that the database uses; any thread may read this property.
    package var usage: StoreUsage? { StoreUsage(of: file) }
}

extension DiskSpace {
    /// The disk space that is available to a data folder.
    package init(of folder: String) throws(StorageError) {
        var disk = statvfs()
        guard statvfs(folder, &disk) == 0 else { throw .system(doing: "asking how full it is") }
        let file = folder + "/" + Format.fileName
        let logBytes = FileStatus(of: file + "-wal")?.bytesCount ?? 0
        // The process's limit of file sizes counts as the end of the disk: no file grows beyond it.
        let limit = DiskSpace.fileBytesMax
        let longest = max(logBytes, FileStatus(of: file)?.bytesCount ?? 0)
        self.init(
            freeBytes: min(
                UInt64(disk.f_bavail) * UInt64(disk.f_frsize), limit - min(limit, longest)),
            totalBytes: min(UInt64(disk.f_blocks) * UInt64(disk.f_frsize), limit),
            logBytes: logBytes, isReserved: Reserve(in: folder).isHeld)
    }

    /// The greatest size of a file that this process may write, in bytes.
    private static var fileBytesMax: UInt64 {
        var limit = rlimit()
        return getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0
            ? UInt64(limit.rlim_cur) : .max
    }
}
