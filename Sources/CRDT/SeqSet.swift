import Wire

/// A set of sequence numbers, stored as ranges; nearly all sets have one range.
///
/// In normal form the ranges ascend and neither overlap nor touch, so equal sets are equal values
/// and have equal bytes.
public struct SeqSet: Hashable, Sendable {
    public private(set) var ranges: [ClosedRange<UInt64>]

    public init() { ranges = [] }

    public init(_ range: ClosedRange<UInt64>) { ranges = [range] }

    public var isEmpty: Bool { ranges.isEmpty }

    /// The number of elements, modulo 2^64.
    public var count: UInt64 { ranges.reduce(0) { $0 &+ ($1.upperBound - $1.lowerBound) &+ 1 } }

    public var greatest: UInt64? { ranges.last?.upperBound }

    public func contains(_ seq: UInt64) -> Bool {
        guard let last = ranges.last, seq <= last.upperBound else { return false }
        if seq >= last.lowerBound { return true }
        let index = firstIndex(endingAtOrAfter: seq)
        return ranges[index].contains(seq)
    }

    public func isSuperset(of other: SeqSet) -> Bool {
        var index = 0
        for range in other.ranges {
            while index < ranges.count, ranges[index].upperBound < range.lowerBound { index += 1 }
            guard index < ranges.count, ranges[index].lowerBound <= range.lowerBound,
                ranges[index].upperBound >= range.upperBound
            else { return false }
        }
        return true
    }

    public mutating func insert(_ seq: UInt64) { insert(seq...seq) }

    public mutating func insert(_ range: ClosedRange<UInt64>) {
        // In the usual case the new range follows the last range.
        if let last = ranges.last, range.lowerBound > last.upperBound {
            if range.lowerBound - 1 == last.upperBound {
                ranges[ranges.count - 1] = last.lowerBound...range.upperBound
            } else {
                ranges.append(range)
            }
            return
        }
        let lowest = range.lowerBound == 0 ? 0 : range.lowerBound - 1
        let start = firstIndex(endingAtOrAfter: lowest)
        var end = start
        var merged = range
        while end < ranges.count, touches(ranges[end], merged) {
            merged =
                min(
                    merged.lowerBound, ranges[end].lowerBound)...max(
                    merged.upperBound, ranges[end].upperBound)
            end += 1
        }
        ranges.replaceSubrange(start..<end, with: CollectionOfOne(merged))
    }

    public mutating func formUnion(_ other: SeqSet) {
        if other.ranges.count == 1 { return insert(other.ranges[0]) }
        guard other.ranges.count > 1, ranges != other.ranges else { return }
        let mine = ranges
        ranges = []
        ranges.reserveCapacity(max(mine.count, other.ranges.count))
        var (left, right) = (mine[...], other.ranges[...])
        while let first = left.first, let second = right.first {
            if first.lowerBound <= second.lowerBound {
                append(first)
                left.removeFirst()
            } else {
                append(second)
                right.removeFirst()
            }
        }
        for range in left { append(range) }
        for range in right { append(range) }
    }

    /// Adds a range that begins at or after the beginning of the last range.
    private mutating func append(_ range: ClosedRange<UInt64>) {
        guard let last = ranges.last, touches(range, last) else {
            ranges.append(range)
            return
        }
        guard range.upperBound > last.upperBound else { return }
        ranges[ranges.count - 1] = last.lowerBound...range.upperBound
    }

    /// Returns the elements that are in both this set and `other`.
    public func intersection(_ other: SeqSet) -> SeqSet {
        subtracting(subtracting(other))
    }

    /// Returns the first `count` ranges, for messages that may claim too few elements, never too
    /// many.
    public func prefix(ranges count: Int) -> SeqSet {
        guard ranges.count > count else { return self }
        var prefix = SeqSet()
        prefix.ranges = Array(ranges.prefix(count))
        return prefix
    }

    public func subtracting(_ other: SeqSet) -> SeqSet {
        var rest = SeqSet()
        var index = 0
        for range in ranges {
            var start = range.lowerBound
            while index < other.ranges.count, other.ranges[index].upperBound < start { index += 1 }
            var cut = index
            var isOpen = true
            while cut < other.ranges.count, other.ranges[cut].lowerBound <= range.upperBound {
                let hole = other.ranges[cut]
                if hole.lowerBound > start { rest.ranges.append(start...(hole.lowerBound - 1)) }
                guard hole.upperBound < range.upperBound else {
                    isOpen = false
                    break
                }
                start = hole.upperBound + 1
                cut += 1
            }
            if isOpen { rest.ranges.append(start...range.upperBound) }
        }
        return rest
    }

    private func touches(_ left: ClosedRange<UInt64>, _ right: ClosedRange<UInt64>) -> Bool {
        let end = right.upperBound == .max ? .max : right.upperBound + 1
        return left.lowerBound <= end
    }

    private func firstIndex(endingAtOrAfter seq: UInt64) -> Int {
        ranges.partitioningIndex { $0.upperBound >= seq }
    }
}

extension SeqSet: WireValue {
    /// The least size of an encoded range: two numbers of one byte.
    private static var rangeBytesMin: Int { 2 }

    public func encode(into writer: inout ByteWriter) {
        writer.write(count: ranges.count)
        var end: UInt64 = 0
        for range in ranges {
            writer.write(varint: range.lowerBound - end)
            writer.write(varint: range.upperBound - range.lowerBound)
            end = range.upperBound
        }
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        try self.init(from: &reader, rangesMax: .max)
    }

    init(from reader: inout ByteReader, rangesMax: Int) throws(WireError) {
        let count = try reader.readCount(limit: rangesMax)
        guard count <= reader.remaining / SeqSet.rangeBytesMin else { throw .truncated }
        ranges = []
        ranges.reserveCapacity(count)
        var end: UInt64 = 0
        for index in 0..<count {
            let (lower, overflowed) = end.addingReportingOverflow(try reader.readVarint())
            let (upper, overflowedToo) = lower.addingReportingOverflow(try reader.readVarint())
            guard !overflowed, !overflowedToo, index == 0 || lower - end > 1 else {
                throw .invalid("ranges that ascend and do not touch")
            }
            ranges.append(lower...upper)
            end = upper
        }
    }
}
