import CSQLite

/// The preallocation of the write-ahead log: synced zeros after its last frame.
///
/// A commit that extends a file also waits for the file system's journal, and therefore for every
/// other process that syncs: with three nodes on one disk this takes twice as long as overwriting
/// existing bytes. Zeros are no valid frames, so a recovery of the log ends before them.
struct WALPreallocation {
    /// The least number of bytes allocated at a time: 1 MiB, some hundreds of small commits.
    private static let chunkBytes: Int64 = 1 << 20
    /// The size of one write, in bytes; SQLite's own writes are smaller than 128 KiB.
    private static let pieceBytes: Int64 = 64 << 10
    /// The number of free allocated bytes below which more bytes are allocated.
    private static let aheadBytes: Int64 = 256 << 10
    /// The sizes in bytes of a frame, which is a page with its head, and of the log's head.
    private static let frameBytes = Int64(Format.pageBytes) + 24
    private static let headBytes: Int64 = 32

    private static let zeros = [UInt8](repeating: 0, count: Int(pieceBytes))

    /// The length up to which the log needs no allocation, and its length at the previous call, in
    /// bytes.
    private var bytesReady: Int64 = 0
    private var bytesBefore: Int64 = 0

    /// Records that the log has been truncated.
    mutating func noteTruncation() { bytesReady = 0 }

    /// Allocates space after the end of the log if little is left; a full disk is ignored.
    ///
    /// - Parameter pages: the number of pages in the log.
    mutating func keep(ahead pages: Int32, of connection: Connection) {
        let used = WALPreallocation.headBytes + Int64(pages) * WALPreallocation.frameBytes
        let growth = max(0, used - bytesBefore)
        bytesBefore = used
        guard used + WALPreallocation.aheadBytes > bytesReady else { return }
        guard let file = connection.log, let methods = file.pointee.pMethods else { return }
        var size: Int64 = 0
        guard methods.pointee.xFileSize(file, &size) == SQLITE_OK else { return }
        // The allocation grows with the size of the commits.
        let wanted = used + max(WALPreallocation.chunkBytes, 2 * growth)
        bytesReady = max(size, wanted)
        // Zeros are written only after the end of the file, since all earlier bytes may be frames.
        while size < wanted {
            let isWritten = WALPreallocation.zeros.withUnsafeBytes {
                methods.pointee.xWrite(file, $0.baseAddress, Int32($0.count), size)
            }
            guard isWritten == SQLITE_OK else { return }
            size += WALPreallocation.pieceBytes
        }
        _ = methods.pointee.xSync(file, SQLITE_SYNC_NORMAL | SQLITE_SYNC_DATAONLY)
        bytesReady = size
    }
}
