import Glibc

/// Room on the disk that is kept for deleting: a file of zeros, given up when a full disk refuses
/// what deletes, and made again when there is room.
package struct Reserve: Hashable, Sendable {
    /// 8 MiB: some hundreds of deletions, each stored by itself, before their log is emptied; and
    /// that is soon.
    package static let bytesMax: UInt64 = 8 << 20

    static let fileName = "reserve"

    private let folder: String
    private var path: String { folder + "/" + Reserve.fileName }

    package init(in folder: String) { self.folder = folder }

    /// A sixteenth of a small disk.
    package static func bytesCount(ofDisk totalBytes: UInt64) -> UInt64 {
        min(bytesMax, totalBytes / 16)
    }

    package var isHeld: Bool { access(path, F_OK) == 0 }

    /// Takes the room, unless it is taken.
    ///
    /// - Throws: `full` where there is none.
    package func make() throws(StorageError) {
        let bytes = Reserve.bytesCount(ofDisk: try FolderSpace(of: folder).totalBytes)
        // Under another name until it is whole, so that what stands under its own name is.
        let draft = path + ".new"
        guard !isHeld else { return }
        let file = open(draft, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw .system(doing: "making the reserve") }
        defer { close(file) }
        // It says why it failed by its result alone.
        errno = posix_fallocate(file, 0, off_t(bytes))
        guard errno == 0, rename(draft, path) == 0 else {
            let error = StorageError.system(doing: "making the reserve")
            unlink(draft)
            throw error
        }
    }

    /// Takes the room; where there is none, it is asked for again later.
    func makeWherePossible() {
        do throws(StorageError) {
            try make()
        } catch {
            return
        }
    }

    /// Gives the room back to the disk.
    ///
    /// - Returns: whether there was any.
    package func giveUp() -> Bool { unlink(path) == 0 }
}

/// How much room there is around a data folder.
package struct FolderSpace: Hashable, Sendable {
    package let freeBytes: UInt64
    package let totalBytes: UInt64
    /// How long the log is that waits to be flushed into the file.
    package let logBytes: UInt64
    package let isReserved: Bool

    package init(of folder: String) throws(StorageError) {
        var disk = statvfs()
        guard statvfs(folder, &disk) == 0 else { throw .system(doing: "asking how full it is") }
        let file = folder + "/" + Format.fileName
        logBytes = FileStatus(of: file + "-wal")?.bytesCount ?? 0
        // A process that may make no file longer has as little room as on a full disk.
        let limit = FolderSpace.fileBytesMax
        let longest = max(logBytes, FileStatus(of: file)?.bytesCount ?? 0)
        freeBytes = min(
            UInt64(disk.f_bavail) * UInt64(disk.f_frsize), limit - min(limit, longest))
        totalBytes = min(UInt64(disk.f_blocks) * UInt64(disk.f_frsize), limit)
        isReserved = Reserve(in: folder).isHeld
    }

    /// How long the system lets this process make a file.
    private static var fileBytesMax: UInt64 {
        var limit = rlimit()
        return getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0
            ? UInt64(limit.rlim_cur) : .max
    }
}
