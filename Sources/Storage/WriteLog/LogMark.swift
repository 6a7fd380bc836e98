import CSQLite
import Glibc
import Wire

/// The mark, in a file beside SQLite's write-ahead log, that records the number of synced frames.
///
/// SQLite's recovery ends at the first invalid frame, and treats all later frames as the unfinished
/// write of a crash. The mark distinguishes a crash from damage: it is written after the sync of a
/// commit has returned, so all frames that it counts were synced, and a log that lacks any of them
/// is damaged. The mark itself is not synced: a power loss can leave an older mark, but never a
/// mark that counts frames that were not synced.
struct LogMark: Hashable, Sendable {
    static let fileName = "log-mark"
    static let bytesCount = 32

    /// The salts of the log's head, which SQLite changes whenever it restarts the log.
    let salts: UInt64
    /// The number of synced frames.
    let frames: UInt32
    /// The number of the page in the last frame.
    let page: UInt32
    /// The checksum of the page in the last frame, which shows whether another program has flushed
    /// the whole log into the database file.
    let pageSum: UInt64

    init(salts: UInt64, frames: UInt32, page: UInt32, pageSum: UInt64) {
        self.salts = salts
        self.frames = frames
        self.page = page
        self.pageSum = pageSum
    }

    /// Decodes a mark; returns nil if the bytes are not a valid mark.
    init?(_ bytes: [UInt8]) {
        guard bytes.count == LogMark.bytesCount else { return nil }
        func number(_ range: Range<Int>) -> UInt64 {
            bytes[range].reduce(0) { $0 << 8 | UInt64($1) }
        }
        guard checksum(bytes[..<24]) == number(24..<32) else { return nil }
        salts = number(0..<8)
        frames = UInt32(number(8..<12))
        page = UInt32(number(12..<16))
        pageSum = number(16..<24)
    }

    var bytes: [UInt8] {
        func bytes(_ number: some FixedWidthInteger) -> [UInt8] {
            withUnsafeBytes(of: number.bigEndian) { Array($0) }
        }
        let content = bytes(salts) + bytes(frames) + bytes(page) + bytes(pageSum)
        return content + bytes(checksum(content))
    }

    /// Returns the checksum of a page as it is written to the database file, with its gap zeroed.
    static func sum(of page: UnsafeMutableRawBufferPointer, number: UInt32) -> UInt64 {
        if let gap = FreeSpaceZeroing.gap(in: UnsafeRawBufferPointer(page), isFirst: number == 1) {
            UnsafeMutableRawBufferPointer(rebasing: page[gap]).initializeMemory(
                as: UInt8.self, repeating: 0)
        }
        return checksum(UnsafeRawBufferPointer(page))
    }
}

/// The open file of the log mark, used by the writer.
final class LogMarkFile {
    private let path: String
    private let file: Int32
    /// The number of frames that the mark in the file counts.
    private var framesNoted: Int32 = 0
    private let frame = UnsafeMutableRawBufferPointer.allocate(
        byteCount: LogFrame.bytesCount, alignment: 8)

    init(in folder: String) throws(StorageError) {
        path = folder + "/" + LogMark.fileName
        file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw .system(doing: "opening \(path)") }
    }

    deinit {
        close(file)
        frame.deallocate()
    }

    /// Writes a mark that counts `frames` synced frames of the connection's log.
    func record(frames: Int32, of connection: Connection) {
        guard frames > 0, frames != framesNoted, let log = connection.log,
            let methods = log.pointee.pMethods,
            let start = frame.baseAddress
        else { return }
        guard methods.pointee.xRead(log, start, 24, 0) == SQLITE_OK else { return }
        let salts = frame.bigEndian(16, as: UInt64.self)
        let offset = LogFrame.offset(of: Int(frames) - 1)
        guard
            methods.pointee.xRead(log, start, Int32(LogFrame.bytesCount), Int64(offset))
                == SQLITE_OK
        else { return }
        framesNoted = frames
        let page = frame.bigEndian(0, as: UInt32.self)
        let content = UnsafeMutableRawBufferPointer(rebasing: frame[LogFrame.headBytes...])
        write(
            LogMark(
                salts: salts, frames: UInt32(frames), page: page,
                pageSum: LogMark.sum(of: content, number: page)
            ).bytes)
    }

    /// Clears the mark after everything in the log has been synced to the database file.
    func clear() {
        framesNoted = 0
        write([UInt8](repeating: 0, count: LogMark.bytesCount))
    }

    func remove() { unlink(path) }

    /// Writes the mark; if the write fails, some later damage may not be recognized.
    private func write(_ bytes: [UInt8]) { _ = pwrite(file, bytes, bytes.count, 0) }

    static func remove(in folder: String) { unlink(folder + "/" + LogMark.fileName) }
}

extension Connection {
    /// The write-ahead log's file; nil before the connection's first read or write.
    var log: UnsafeMutablePointer<sqlite3_file>? {
        var file: UnsafeMutablePointer<sqlite3_file>?
        let code = sqlite3_file_control(handle, "main", SQLITE_FCNTL_JOURNAL_POINTER, &file)
        return code == SQLITE_OK ? file : nil
    }
}

extension UnsafeMutableRawBufferPointer {
    func bigEndian<Number: FixedWidthInteger>(_ offset: Int, as type: Number.Type) -> Number {
        Number(bigEndian: loadUnaligned(fromByteOffset: offset, as: Number.self))
    }
}
