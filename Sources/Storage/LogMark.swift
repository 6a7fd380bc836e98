import CSQLite
import Glibc
import Wire

/// The mark of how much of the write-ahead log is synced, in a file of its own beside it.
///
/// SQLite ends its recovery at the first frame that is not valid, and takes what lies behind it for
/// what a crash left half written. The mark tells the two apart: it is written once the sync of a
/// commit has returned, so that whatever the log lacks of it was acknowledged, and is damage. It is
/// not synced itself: a power loss may take back the mark, never more of the log than that.
struct LogMark: Hashable, Sendable {
    static let fileName = "log-mark"
    static let bytesCount = 32

    /// Which log it is: SQLite draws new ones whenever it begins the log anew.
    let salts: UInt64
    /// How many frames are synced.
    let frames: UInt32
    /// The page of the last frame.
    let page: UInt32
    /// The checksum of its content: a log that another program has flushed into the file is gone,
    /// and nothing with it.
    let pageSum: UInt64

    init(salts: UInt64, frames: UInt32, page: UInt32, pageSum: UInt64) {
        self.salts = salts
        self.frames = frames
        self.page = page
        self.pageSum = pageSum
    }

    /// Nil for bytes that are no mark.
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

    /// The checksum of a page, as it is in the file: without what is cleaned on the way there.
    static func sum(of page: UnsafeMutableRawBufferPointer, number: UInt32) -> UInt64 {
        if let gap = FreeSpaceZeroing.gap(in: UnsafeRawBufferPointer(page), isFirst: number == 1) {
            UnsafeMutableRawBufferPointer(rebasing: page[gap]).initializeMemory(
                as: UInt8.self, repeating: 0)
        }
        return checksum(UnsafeRawBufferPointer(page))
    }
}

/// The file with the mark, for who writes the log.
final class LogMarkFile {
    private let path: String
    private let file: Int32
    /// How many frames it tells of.
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

    /// So many frames of the connection's log are synced.
    func note(frames: Int32, of connection: Connection) {
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

    /// All that was in the log is in the file, and synced there.
    func clear() {
        framesNoted = 0
        write([UInt8](repeating: 0, count: LogMark.bytesCount))
    }

    func remove() { unlink(path) }

    /// Where the disk does not take it, less damage is known as such.
    private func write(_ bytes: [UInt8]) { _ = pwrite(file, bytes, bytes.count, 0) }

    static func remove(in folder: String) { unlink(folder + "/" + LogMark.fileName) }
}

extension Connection {
    /// The write-ahead log, once something was read or written.
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
