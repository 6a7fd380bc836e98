import Glibc
import Wire

/// A frame of the write-ahead log: one page, behind a head with its number and checksums.
///
/// Source: "WAL-mode File Format", 2 and 4.
enum LogFrame {
    static let headBytes = 24
    static let bytesCount = headBytes + Format.pageBytes
    static let logHeadBytes = 32

    static func offset(of frame: Int) -> Int { logHeadBytes + frame * bytesCount }
}

/// The check of the write-ahead log that a process left, before SQLite reads and empties it.
///
/// What a crash leaves is the log up to its last sync, and behind it parts of one transaction at
/// most: a second one is written only once the first is synced. Frames of this log that end a
/// second one behind a frame that is not valid were acknowledged, and so was all that the mark
/// tells of. Frames of earlier logs have other salts.
struct LogCheck {
    /// The running checksum, over pairs of words.
    private struct Sum: Equatable {
        var first: UInt32 = 0
        var second: UInt32 = 0

        mutating func add(_ bytes: UnsafeRawBufferPointer, isBigEndian: Bool) {
            var offset = 0
            while offset + 8 <= bytes.count {
                let one = bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self)
                let two = bytes.loadUnaligned(fromByteOffset: offset + 4, as: UInt32.self)
                first &+= (isBigEndian ? one.bigEndian : one.littleEndian) &+ second
                second &+= (isBigEndian ? two.bigEndian : two.littleEndian) &+ first
                offset += 8
            }
        }
    }

    /// What a log consists of.
    private struct Content {
        var salts: UInt64 = 0
        /// Up to the end of the last transaction that SQLite would recover.
        var recovered = 0
        /// Transactions that end behind the first frame that is not valid.
        var endsBehind = 0
        /// The first frame that is not valid, counted from 1.
        var invalid: Int?
    }

    private enum Head {
        /// Nothing, or zeros: no transaction.
        case empty
        case damaged
        case valid(salts: UInt64, Sum, isBigEndian: Bool)
    }

    private let file: String
    private let folder: String

    /// - Parameter file: the database's.
    init(_ file: String, in folder: String) {
        self.file = file
        self.folder = folder
    }

    /// What acknowledged commits are missing from the log; nil where none are.
    func damage() throws(StorageError) -> String? {
        let mark = try LogCheck.bytes(of: folder + "/" + LogMark.fileName, count: 32)
            .flatMap(LogMark.init)
        let path = file + "-wal"
        let log = open(path, O_RDONLY | O_CLOEXEC)
        guard log >= 0 else {
            guard errno == ENOENT else { throw .system(doing: "opening \(path)") }
            return try lacks(mark) ? "the write-ahead log is missing" : nil
        }
        defer { close(log) }
        switch try head(of: log) {
        case .empty: return try lacks(mark) ? "the write-ahead log is empty" : nil
        case .damaged: return "the head of the write-ahead log is damaged"
        case .valid(let salts, let sum, let isBigEndian):
            let content = try content(of: log, salts, sum, isBigEndian: isBigEndian)
            let synced = mark.flatMap { $0.salts == salts ? Int($0.frames) : nil } ?? 0
            guard content.endsBehind > 1 || synced > content.recovered else { return nil }
            return "the write-ahead log is damaged at frame \(content.recovered + 1)"
                + (synced > 0 ? " of \(synced)" : "")
        }
    }

    /// Whether the file lacks what the mark says was in a log that is gone.
    private func lacks(_ mark: LogMark?) throws(StorageError) -> Bool {
        guard let mark, mark.frames > 0, mark.page > 0 else { return false }
        let offset = Int(mark.page - 1) * Format.pageBytes
        guard var page = try LogCheck.bytes(of: file, count: Format.pageBytes, at: offset) else {
            return true
        }
        return page.withUnsafeMutableBytes { LogMark.sum(of: $0, number: mark.page) }
            != mark.pageSum
    }

    private func head(of log: Int32) throws(StorageError) -> Head {
        var bytes = [UInt8](repeating: 0, count: LogFrame.logHeadBytes)
        let count = pread(log, &bytes, bytes.count, 0)
        guard count >= 0 else { throw .system(doing: "reading the write-ahead log") }
        guard count == bytes.count, bytes.contains(where: { $0 != 0 }) else { return .empty }
        return bytes.withUnsafeMutableBytes { head in
            let magic = head.bigEndian(0, as: UInt32.self)
            guard magic & ~1 == 0x377F_0682 else { return .damaged }
            var sum = Sum()
            sum.add(UnsafeRawBufferPointer(rebasing: head[..<24]), isBigEndian: magic & 1 == 1)
            let stated = Sum(
                first: head.bigEndian(24, as: UInt32.self),
                second: head.bigEndian(28, as: UInt32.self))
            guard sum == stated else { return .damaged }
            return .valid(
                salts: head.bigEndian(16, as: UInt64.self), sum, isBigEndian: magic & 1 == 1)
        }
    }

    private func content(
        of log: Int32, _ salts: UInt64, _ headSum: Sum, isBigEndian: Bool
    ) throws(StorageError) -> Content {
        var content = Content(salts: salts)
        var sum = headSum
        let frame = UnsafeMutableRawBufferPointer.allocate(
            byteCount: LogFrame.bytesCount, alignment: 8)
        defer { frame.deallocate() }
        var number = 0
        while true {
            let count = pread(
                log, frame.baseAddress, frame.count, off_t(LogFrame.offset(of: number)))
            guard count >= 0 else { throw .system(doing: "reading the write-ahead log") }
            guard count == frame.count else { return content }
            number += 1
            let isOfLog = frame.bigEndian(8, as: UInt64.self) == salts
            let isEnd = frame.bigEndian(4, as: UInt32.self) != 0
            guard content.invalid == nil else {
                if isOfLog, isEnd { content.endsBehind += 1 }
                continue
            }
            sum.add(UnsafeRawBufferPointer(rebasing: frame[..<8]), isBigEndian: isBigEndian)
            sum.add(
                UnsafeRawBufferPointer(rebasing: frame[LogFrame.headBytes...]),
                isBigEndian: isBigEndian)
            let stated = Sum(
                first: frame.bigEndian(16, as: UInt32.self),
                second: frame.bigEndian(20, as: UInt32.self))
            guard isOfLog, stated == sum else {
                content.invalid = number
                if isOfLog, isEnd { content.endsBehind += 1 }
                continue
            }
            if isEnd { content.recovered = number }
        }
    }

    /// Nil where there are fewer.
    private static func bytes(
        of path: String, count: Int, at offset: Int = 0
    ) throws(StorageError) -> [UInt8]? {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else {
            guard errno == ENOENT else { throw .system(doing: "opening \(path)") }
            return nil
        }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: count)
        let found = pread(file, &bytes, count, off_t(offset))
        guard found >= 0 else { throw .system(doing: "reading \(path)") }
        return found == count ? bytes : nil
    }
}

/// The note that acknowledged commits are missing, which stays in the folder until they have been
/// fetched from other nodes, or until whoever runs the node goes on without them.
struct LossNote {
    static let fileName = "damage"
    private let path: String

    init(in folder: String) { path = folder + "/" + LossNote.fileName }

    /// What is missing; nil where nothing is.
    func read() throws(StorageError) -> String? {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else {
            guard errno == ENOENT else { throw .system(doing: "opening \(path)") }
            return nil
        }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 256)
        let count = Glibc.read(file, &bytes, bytes.count)
        guard count >= 0 else { throw .system(doing: "reading \(path)") }
        let text = bytes[..<count].filter { (0x20..<0x7F).contains($0) }
        guard !text.isEmpty else { return "the write-ahead log is damaged" }
        return String(decoding: text, as: UTF8.self)
    }

    /// Durable when it returns: SQLite empties the log that says so.
    func write(_ damage: String) throws(StorageError) {
        let file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw .system(doing: "making \(path)") }
        defer { close(file) }
        let bytes = Array(damage.utf8)
        guard Glibc.write(file, bytes, bytes.count) == bytes.count, fsync(file) == 0 else {
            throw .system(doing: "writing \(path)")
        }
        try Folder.syncParent(of: path)
    }

    func remove() { unlink(path) }
}
