import Glibc
import Wire

/// The layout of a frame of SQLite's write-ahead log: a head with checksums, then a page.
///
/// Source: "WAL-mode File Format", 2 and 4.
enum LogFrame {
    static let headBytes = 24
    static let bytesCount = headBytes + Format.pageBytes
    static let logHeadBytes = 32

    static func offset(of frame: Int) -> Int { logHeadBytes + frame * bytesCount }
}

/// The check of the previous process's write-ahead log, made before SQLite empties the log.
///
/// A crash leaves the log up to its last sync, followed by parts of at most one transaction,
/// because the next transaction is written only after a sync. Therefore the log is damaged if two
/// of its transactions end at or after an invalid frame, or if it lacks frames that the mark counts
/// as synced. Frames of earlier logs have other salts and do not count.
struct LogCheck {
    /// The cumulative checksum of SQLite's log, over pairs of 32-bit words.
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

    /// The state of a log that has been read to its end.
    private struct Content {
        var salts: UInt64 = 0
        /// The last frame of the last transaction that SQLite would recover, counted from 1.
        var recovered = 0
        /// The number of transactions that end at or after the first invalid frame.
        var endsBehind = 0
        /// The first invalid frame, counted from 1.
        var invalid: Int?
    }

    private enum Head {
        /// The head has no bytes or only zeros, so the log contains no transaction.
        case empty
        case damaged
        case valid(salts: UInt64, Sum, isBigEndian: Bool)
    }

    private let file: String
    private let folder: String

    /// - Parameter file: the path of the database.
    init(_ file: String, in folder: String) {
        self.file = file
        self.folder = folder
    }

    /// Returns a description of the damage if the log lacks acknowledged commits; otherwise nil.
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

    /// Returns whether the database file lacks the last page that the mark recorded, when the log
    /// is missing or empty.
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

    /// Reads bytes at an offset; returns nil if the file is shorter or missing.
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

/// The note that acknowledged commits are missing; the file stays until the node has fetched them
/// from other nodes, or until the operator gives them up.
struct LossNote {
    static let fileName = "damage"
    private let path: String

    init(in folder: String) { path = folder + "/" + LossNote.fileName }

    /// Returns the description of the damage; nil if there is no note.
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

    /// Writes and syncs the note, since SQLite afterwards empties the log that shows the damage.
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
