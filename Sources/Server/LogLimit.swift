import Node

/// The limit of the log: of the lines of one kind about one peer a few are written, the others are
/// counted and reported in one line.
///
/// Events from outside can cause lines, and must not be able to fill a disk with them. In each span
/// at most `linesMax` lines of a kind are written, which is about 1.2 MB an hour if all have
/// `lineBytesMax`, of at most `kindsMax` kinds.
struct LogLimit: Sendable {
    /// The most lines of one kind that are written in one span.
    static let linesMax = 20
    /// The length of a span, in milliseconds.
    static let spanMilliseconds: UInt64 = 60_000
    /// The most kinds that are distinguished in a span; all others count as one.
    static let kindsMax = 64
    /// The most bytes of a line; a longer one is cut.
    static let lineBytesMax = 1_024

    private struct Kind {
        let level: LogLevel
        /// The first line of this kind.
        let first: String
        let since: UInt64
        var written = 0
        var withheld = 0
    }

    /// The counts, by the words that make the kind.
    private var kinds: [String: Kind] = [:]

    /// Counts a line, and returns whether it is to be written.
    mutating func admits(_ line: String, at level: LogLevel, now: UInt64) -> Bool {
        var name = LogLimit.kind(of: line, at: level)
        if kinds[name] == nil, kinds.count >= LogLimit.kindsMax { name = "" }
        var kind =
            kinds[name] ?? Kind(level: level, first: LogLimit.cut(line), since: now)
        let isAdmitted = kind.written < LogLimit.linesMax
        if isAdmitted { kind.written += 1 } else { kind.withheld += 1 }
        kinds[name] = kind
        return isAdmitted
    }

    /// Returns, for each kind whose span is over, a line about those that were not written.
    mutating func takeWithheld(now: UInt64) -> [(LogLevel, String)] {
        let over = kinds.filter { now >= $1.since + LogLimit.spanMilliseconds }
        guard !over.isEmpty else { return [] }
        for name in over.keys { kinds[name] = nil }
        return over.sorted { $0.key < $1.key }.filter { $0.value.withheld > 0 }.map { name, kind in
            let subject = name.isEmpty ? "lines of many kinds" : kind.first
            return (kind.level, "withheld=\(kind.withheld) more like: \(subject)")
        }
    }

    /// Returns the kind of a line: its words that are neither pairs nor numbers, its peer and its
    /// shard.
    private static func kind(of line: String, at level: LogLevel) -> String {
        let words = cut(line).split(separator: " ").filter { word in
            if word.hasPrefix("peer=") || word.hasPrefix("shard=") { return true }
            return !word.contains("=") && !word.utf8.contains { (0x30...0x39).contains($0) }
        }
        return level.rawValue + " " + words.joined(separator: " ")
    }

    /// Returns the part of a line that is written.
    static func cut(_ line: String) -> String {
        guard line.utf8.count > lineBytesMax else { return line }
        var cut = line[...]
        while cut.utf8.count > lineBytesMax { cut.removeLast() }
        return cut + "…"
    }
}
