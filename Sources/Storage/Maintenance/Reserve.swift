import Glibc
import StorePort

/// The disk space that is kept for deletions: a file of zeros that is removed when a full disk
/// refuses a deletion, and created again when there is space.
package struct Reserve: Hashable, Sendable {
    /// The greatest size of the reserve: 8 MiB, enough for some hundreds of deletions that are
    /// stored one by one before the log is emptied.
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
    /// - Throws: `full` if the disk has too little space for the reserve.
    package func make() throws(StorageError) {
        let bytes = Reserve.bytesCount(ofDisk: try DiskSpace(of: folder).totalBytes)
        // Until the file is complete it has a temporary name, never the final one.
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

    /// Creates the reserve if the disk has space; otherwise the node tries again later.
    func makeWherePossible() {
        do throws(StorageError) {
            try make()
        } catch {
            return
        }
    }

    /// Removes the reserve, which returns its space to the disk.
    ///
    /// - Returns: true if there was a reserve.
    package func giveUp() -> Bool { unlink(path) == 0 }
}
