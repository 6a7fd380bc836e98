import Glibc

/// The disk space that is kept for deletions: a file of zeros that is removed when a full disk
/// refuses a deletion, and created again when there is space.
package struct Reserve: Hashable, Sendable {
    /// 8 MiB, enough for some hundreds of deletions that are stored one by one; the log is emptied
    /// soon after.
    package static let bytesMax: UInt64 = 8 << 20

    static let fileName = "reserve"

    private let folder: String
    private var path: String { folder + "/" + Reserve.fileName }

    package init(in folder: String) { self.folder = folder }

    /// Returns the size of the reserve: at most a sixteenth of the disk.
    package static func bytesCount(ofDisk totalBytes: UInt64) -> UInt64 {
        min(bytesMax, totalBytes / 16)
    }

    package var isHeld: Bool { access(path, F_OK) == 0 }

    /// Creates the reserve, unless it exists.
    ///
    /// - Throws: `full` where the disk has no space for it.
    package func make() throws(StorageError) {
        let bytes = Reserve.bytesCount(ofDisk: try FolderSpace(of: folder).totalBytes)
        // Under another name until it is whole, so that a file under its own name always is.
        let draft = path + ".new"
        guard !isHeld else { return }
        let file = open(draft, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw .system(doing: "making the reserve") }
        defer { close(file) }
        // posix_fallocate returns its error instead of setting `errno`.
        errno = posix_fallocate(file, 0, off_t(bytes))
        guard errno == 0, rename(draft, path) == 0 else {
            let error = StorageError.system(doing: "making the reserve")
            unlink(draft)
            throw error
        }
    }

    /// Creates the reserve if the disk has space; otherwise it is requested again later.
    func makeWherePossible() {
        do throws(StorageError) {
            try make()
        } catch {
            return
        }
    }

    /// Removes the reserve, which returns its space to the disk.
    ///
    /// - Returns: whether there was a reserve.
    package func giveUp() -> Bool { unlink(path) == 0 }
}

/// The disk space that is available to a data folder.
package struct FolderSpace: Hashable, Sendable {
    package let freeBytes: UInt64
    package let totalBytes: UInt64
    /// The size of the write-ahead log that waits to be flushed into the file, in bytes.
    package let logBytes: UInt64
    package let isReserved: Bool

    package init(of folder: String) throws(StorageError) {
        var disk = statvfs()
        guard statvfs(folder, &disk) == 0 else { throw .system(doing: "asking how full it is") }
        let file = folder + "/" + Format.fileName
        logBytes = FileStatus(of: file + "-wal")?.bytesCount ?? 0
        // A file that has reached the process's size limit is as bad as a full disk.
        let limit = FolderSpace.fileBytesMax
        let longest = max(logBytes, FileStatus(of: file)?.bytesCount ?? 0)
        freeBytes = min(
            UInt64(disk.f_bavail) * UInt64(disk.f_frsize), limit - min(limit, longest))
        totalBytes = min(UInt64(disk.f_blocks) * UInt64(disk.f_frsize), limit)
        isReserved = Reserve(in: folder).isHeld
    }

    /// The greatest size of a file that this process may write, in bytes.
    private static var fileBytesMax: UInt64 {
        var limit = rlimit()
        return getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0
            ? UInt64(limit.rlim_cur) : .max
    }
}
