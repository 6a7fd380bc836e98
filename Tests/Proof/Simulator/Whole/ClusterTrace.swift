import Wire

/// The events of a run in order, in enough detail to compare two runs.
package struct ClusterTrace: Sendable {
    package struct Entry: Hashable, Sendable, CustomStringConvertible {
        /// Microseconds since the run began.
        let at: UInt64
        let machine: Int
        let what: String
        let detail: UInt64

        package var description: String {
            "\(at / 1_000).\(at % 1_000 / 100) ms n\(machine + 1) \(what) \(hexadecimal(detail))"
        }
    }

    package private(set) var entries: [Entry] = []
    /// The hash over all entries.
    package private(set) var hash: UInt64 = 0

    mutating func append(_ entry: Entry) {
        entries.append(entry)
        var writer = ByteWriter(reserving: 64)
        for number in [hash, entry.at, UInt64(entry.machine), entry.detail] {
            writer.write(fixed: number)
        }
        hash = checksum(writer.bytes, seed: checksum(of: entry.what))
    }

    /// Describes the first difference between two runs; nil if they are equal.
    package func firstDifference(from other: ClusterTrace) -> String? {
        guard hash != other.hash || entries.count != other.entries.count else { return nil }
        let index =
            zip(entries, other.entries).enumerated()
            .first { $1.0 != $1.1 }?.offset ?? min(entries.count, other.entries.count)
        let mine = index < entries.count ? "\(entries[index])" : "the end"
        let theirs = index < other.entries.count ? "\(other.entries[index])" : "the end"
        return "at entry \(index) one run has \(mine), the other \(theirs)"
    }
}
