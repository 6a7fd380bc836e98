import LineProtocol

/// The seqs of each replica id that a node states to hold in some shards, as ranges.
struct HeldSeqs: Sendable {
    struct Source: Hashable, Sendable {
        let shard: Int
        let replica: String
    }

    private(set) var ranges: [Source: [ClosedRange<Int>]] = [:]
    private var shards: Set<Int> = []

    /// Records that the node holds this shard, even if it is empty.
    mutating func hold(_ shard: Int) { shards.insert(shard) }

    /// Adds a `VECTOR` line of a held shard; returns false if it cannot be parsed.
    mutating func add(_ line: ReplyFields, of shard: Int) -> Bool {
        guard let replica = line["replica"], let first = line["seq"].flatMap({ Int($0) }) else {
            return false
        }
        var all = first > 0 ? [1...first] : []
        for text in line.set("above") {
            let ends = text.split(separator: "-").compactMap { Int($0) }
            guard let low = ends.first, let high = ends.last, low <= high else { return false }
            all.append(low...high)
        }
        ranges[Source(shard: shard, replica: replica), default: []] += all
        return true
    }

    /// Returns per node the number of seqs that it lacks, in its shards, of those that all nodes
    /// hold.
    static func lacking(_ nodes: [HeldSeqs]) -> [Int] {
        var all: [Source: [ClosedRange<Int>]] = [:]
        for node in nodes { all.merge(node.ranges) { $0 + $1 } }
        return nodes.map { node in
            all.reduce(0) { sum, source in
                guard node.shards.contains(source.key.shard) else { return sum }
                return sum + count(source.value) - count(node.ranges[source.key] ?? [])
            }
        }
    }

    /// Returns how many numbers lie in the ranges, which may overlap.
    private static func count(_ ranges: [ClosedRange<Int>]) -> Int {
        var count = 0
        var end = Int.min
        for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound })
        where range.upperBound > end {
            count += range.upperBound - max(range.lowerBound - 1, end)
            end = range.upperBound
        }
        return count
    }
}
