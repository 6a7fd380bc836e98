import LineProtocol

/// A reply as received: its data lines, then its status line.
package struct LineReply: Hashable, Sendable {
    /// All lines of the reply, each with its LF.
    package let bytes: [UInt8]
    /// The index in `bytes` at which the status line begins.
    package let statusStart: Int

    /// The data lines with their ends, as received.
    package var dataBytes: ArraySlice<UInt8> { bytes[..<statusStart] }

    package var isOK: Bool { bytes[statusStart] == UInt8(ascii: "O") }

    /// The status line without its end.
    package var statusText: String {
        String(decoding: bytes[statusStart...].dropLast(), as: UTF8.self)
    }

    /// The fields of an `OK`; nil for an `ERR`, and for a line outside the protocol.
    package var ok: ReplyFields? {
        guard case .ok(let fields) = ReplyLine(bytes[statusStart...].dropLast()) else { return nil }
        return fields
    }

    /// The code and the sentence of an `ERR`; nil for an `OK`.
    package var error: LineError? {
        guard case .error(let error) = ReplyLine(bytes[statusStart...].dropLast()) else {
            return nil
        }
        return error
    }

    /// All lines of the reply, the status line last; an unreadable line is omitted.
    package var lines: [ReplyLine] {
        bytes.split(separator: UInt8(ascii: "\n")).compactMap { ReplyLine($0) }
    }

    /// The data lines, without their ends.
    package var dataLines: [ArraySlice<UInt8>] {
        dataBytes.split(separator: UInt8(ascii: "\n"))
    }

    /// Returns the fields of each data line that begins with `noun`; an unreadable line is omitted.
    package func data(_ noun: String) -> [ReplyFields] {
        dataLines.compactMap { line in
            guard case .data(noun, let fields) = ReplyLine(line) else { return nil }
            return fields
        }
    }
}

/// The assembly of one connection's bytes into replies.
struct ReplyCutter {
    struct TooLong: Error {}

    /// The limit of one reply in bytes: enough for a `HISTORY` of 1,000 messages with the longest
    /// text and its escapes.
    static let replyBytesMax = 64 << 20

    private var kept: [UInt8] = []
    /// The index in `kept` at which the unfinished line begins.
    private var lineStart = 0

    /// The number of bytes kept of an unfinished reply.
    var keptCount: Int { kept.count }

    /// - Parameter event: called with each `EVENT` line, without its end; these lines stand between
    ///   replies and belong to none.
    mutating func feed(
        _ bytes: UnsafeRawBufferPointer, event: (ArraySlice<UInt8>) -> Void = { _ in },
        _ visit: (LineReply) -> Void
    ) throws(TooLong) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let end = rest.firstIndex(of: UInt8(ascii: "\n"))
            let piece = rest[..<(end.map { $0 + 1 } ?? rest.endIndex)]
            guard kept.count + piece.count <= Self.replyBytesMax else { throw TooLong() }
            kept.append(contentsOf: piece)
            rest = rest[piece.endIndex...]
            guard end != nil else { return }
            if isStatus(kept[lineStart...]) {
                let reply = LineReply(bytes: kept, statusStart: lineStart)
                kept = []
                lineStart = 0
                visit(reply)
            } else if kept[lineStart...].starts(with: "EVENT ".utf8) {
                event(kept[lineStart...].dropLast())
                kept.removeSubrange(lineStart...)
            } else {
                lineStart = kept.count
            }
        }
    }

    /// Whether a line is a status line; no data line begins with these words.
    private func isStatus(_ line: ArraySlice<UInt8>) -> Bool {
        line.starts(with: "OK ".utf8) || line.starts(with: "OK\n".utf8)
            || line.starts(with: "ERR ".utf8)
    }
}
