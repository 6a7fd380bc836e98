import CSQLite

/// Room that the log has before it needs it: zeros behind its end, written and synced.
///
/// A commit that makes a file longer waits for the file system's journal as well, and so for every
/// other process that syncs: with three nodes on one disk twice as long as one that writes over
/// what is there. Zeros are no frames, so that whoever recovers the log ends before them.
struct WALPreallocation {
    /// The least that is made at a time: 1 MiB, some hundreds of small commits.
    private static let chunkBytes: Int64 = 1 << 20
    /// How much is written at a time; SQLite writes less than 128 KiB.
    private static let pieceBytes: Int64 = 64 << 10
    /// When there is less than this left, more is written.
    private static let aheadBytes: Int64 = 256 << 10
    /// What a page takes in the log, and what stands in front of all.
    private static let frameBytes = Int64(Format.pageBytes) + 24
    private static let headBytes: Int64 = 32

    private static let zeros = [UInt8](repeating: 0, count: Int(pieceBytes))

    /// How long the log may become before something is done.
    private var bytesReady: Int64 = 0
    private var bytesBefore: Int64 = 0

    /// The log is as short as can be.
    mutating func noteTruncation() { bytesReady = 0 }

    /// Makes room behind the end, where there is little left; where the disk has none, the log
    /// grows as it always does.
    ///
    /// - Parameter pages: how many the log has.
    mutating func keep(ahead pages: Int32, of connection: Connection) {
        let used = WALPreallocation.headBytes + Int64(pages) * WALPreallocation.frameBytes
        let growth = max(0, used - bytesBefore)
        bytesBefore = used
        guard used + WALPreallocation.aheadBytes > bytesReady else { return }
        guard let file = connection.log, let methods = file.pointee.pMethods else { return }
        var size: Int64 = 0
        guard methods.pointee.xFileSize(file, &size) == SQLITE_OK else { return }
        // Where commits are large, so is what is kept ready for them.
        let wanted = used + max(WALPreallocation.chunkBytes, 2 * growth)
        bytesReady = max(size, wanted)
        // Only behind the end: what is before it may be frames.
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
