import LineProtocol

/// A reply as it came: its data lines, then its status line.
package struct LineReply: Hashable, Sendable {
    /// Every line of it, each with its LF.
    package let bytes: [UInt8]
    /// Where the status line begins in `bytes`.
    package let statusStart: Int

    /// The data lines with their ends, as they came.
    package var dataBytes: ArraySlice<UInt8> { bytes[..<statusStart] }

    package var isOK: Bool { bytes[statusStart] == UInt8(ascii: "O") }

    /// The status line without its end.
    package var statusText: String {
        String(decoding: bytes[statusStart...].dropLast(), as: UTF8.self)
    }

    /// What stands behind `OK`; nil for an `ERR`, and for a line that is none of the protocol.
    package var ok: ReplyFields? {
        guard case .ok(let fields) = ReplyLine(bytes[statusStart...].dropLast()) else { return nil }
        return fields
    }

    /// The code and the sentence of an `ERR`.
    package var error: LineError? {
        guard case .error(let error) = ReplyLine(bytes[statusStart...].dropLast()) else {
            return nil
        }
        return error
    }

    /// Every line of it, the status line last; one that cannot be read is left out.
    package var lines: [ReplyLine] {
        bytes.split(separator: UInt8(ascii: "\n")).compactMap { ReplyLine($0) }
    }

    /// The data lines, without their ends.
    package var dataLines: [ArraySlice<UInt8>] {
        dataBytes.split(separator: UInt8(ascii: "\n"))
    }

    /// The fields of each data line that begins with `noun`; one that cannot be read is left out.
    package func data(_ noun: String) -> [ReplyFields] {
        dataLines.compactMap { line in
            guard case .data(noun, let fields) = ReplyLine(line) else { return nil }
            return fields
        }
    }
}

/// Puts the bytes of one connection together to replies.
struct ReplyCutter {
    struct TooLong: Error {}

    /// The most bytes of one reply: a `HISTORY` of 1,000 messages of the longest text, with room
    /// for escapes; what is longer is no node of ours.
    static let replyBytesMax = 64 << 20

    private var kept: [UInt8] = []
    /// Where the line that has not ended begins in `kept`.
    private var lineStart = 0

    /// How many bytes are kept of a reply that has not ended.
    var keptCount: Int { kept.count }

    /// - Parameter event: called with each `EVENT` line, without its end; these stand between
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

    /// No data line begins with these words.
    private func isStatus(_ line: ArraySlice<UInt8>) -> Bool {
        line.starts(with: "OK ".utf8) || line.starts(with: "OK\n".utf8)
            || line.starts(with: "ERR ".utf8)
    }
}
