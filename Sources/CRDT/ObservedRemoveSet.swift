import Wire

/// An observed-remove set in which an add wins over a concurrent remove.
///
/// Each element keeps its live dots and its own causal context, so a merge needs nothing from
/// outside the element, and a removed element stays as its context alone: a remove is remembered,
/// never forgotten. Source: A. Bieniusa et al., "An optimized conflict-free replicated set" (2012).
public struct ObservedRemoveSet<Element: Comparable & Hashable & Sendable>: Hashable, Sendable {
    struct Entry: Hashable, Sendable {
        let element: Element
        /// The adds that no remove has seen; ascending, each also in `context`.
        var dots: [Dot]
        /// Every add ever seen, live or not; never empty.
        var context: Context
    }

    /// Ascending by element.
    private(set) var entries: [Entry]

    public init() { entries = [] }

    /// The elements, ascending.
    public var elements: [Element] {
        // Closures: a key path of a generic type is made anew each time.
        entries.lazy.filter { !$0.dots.isEmpty }.map { $0.element }
    }

    public var isEmpty: Bool { entries.allSatisfy { $0.dots.isEmpty } }

    /// Whether all its elements are in `other`.
    public func isSubset(of other: ObservedRemoveSet) -> Bool {
        entries.allSatisfy { $0.dots.isEmpty || other.contains($0.element) }
    }

    public var count: Int { entries.count { !$0.dots.isEmpty } }

    public func contains(_ element: Element) -> Bool {
        let index = firstIndex(notBefore: element)
        return index < entries.count && entries[index].element == element
            && !entries[index].dots.isEmpty
    }

    /// Whether it is an element, or was.
    public func hasHeld(_ element: Element) -> Bool {
        let index = firstIndex(notBefore: element)
        return index < entries.count && entries[index].element == element
    }

    /// Adds `element` by the mutation `dot`, in place of every add of it seen so far.
    public mutating func insert(_ element: Element, by dot: Dot) {
        let index = firstIndex(notBefore: element)
        if index < entries.count, entries[index].element == element {
            entries[index].dots = [dot]
            entries[index].context.insert(dot)
        } else {
            entries.insert(
                Entry(element: element, dots: [dot], context: Context(dot)), at: index)
        }
    }

    /// Removes every add of `element` seen so far; one that is concurrent survives.
    public mutating func remove(_ element: Element) {
        let index = firstIndex(notBefore: element)
        guard index < entries.count, entries[index].element == element else { return }
        entries[index].dots = []
        #if PlantedBugs
            if PlantedBug.setContextLost.isOn { entries.remove(at: index) }
        #endif
    }

    public mutating func merge(_ other: ObservedRemoveSet) {
        guard !other.entries.isEmpty else { return }
        guard !entries.isEmpty else {
            entries = other.entries
            return
        }
        var merged: [Entry] = []
        merged.reserveCapacity(max(entries.count, other.entries.count))
        var (mine, theirs) = (entries[...], other.entries[...])
        while let left = mine.first, let right = theirs.first {
            if left.element < right.element {
                merged.append(left)
                mine.removeFirst()
            } else if right.element < left.element {
                merged.append(right)
                theirs.removeFirst()
            } else {
                merged.append(left.merged(with: right))
                mine.removeFirst()
                theirs.removeFirst()
            }
        }
        entries = merged + mine + theirs
    }

    private func firstIndex(notBefore element: Element) -> Int {
        var low = 0
        var high = entries.count
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].element < element { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

extension ObservedRemoveSet.Entry {
    /// An add is live where both have it, or where the one that lacks it has never seen it.
    func merged(with other: Self) -> Self {
        let mine = dots.filter { other.dots.contains($0) || !other.context.contains($0) }
        let theirs = other.dots.filter { !dots.contains($0) && !context.contains($0) }
        var merged = self
        merged.dots = theirs.isEmpty ? mine : (mine + theirs).sorted()
        merged.context.merge(other.context)
        return merged
    }
}

extension ObservedRemoveSet: WireValue where Element: WireValue {
    /// The fewest bytes of an entry: a context of one dot, and the counts around it.
    ///
    /// A count may lie; no more room is made than what is there can fill.
    private static var entryBytesMin: Int { 20 }

    public func encode(into writer: inout ByteWriter) {
        writer.write(count: entries.count)
        for entry in entries {
            entry.element.encode(into: &writer)
            entry.context.encode(into: &writer)
            writer.write(count: entry.dots.count)
            for dot in entry.dots { dot.encode(into: &writer) }
        }
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        let count = try reader.readCount()
        entries = []
        entries.reserveCapacity(min(count, reader.remaining / Self.entryBytesMin))
        for _ in 0..<count {
            let element = try Element(from: &reader)
            let context = try Context(from: &reader)
            var dots: [Dot] = []
            for _ in 0..<(try reader.readCount()) {
                let dot = try Dot(from: &reader)
                guard context.contains(dot), dots.last.map({ $0 < dot }) ?? true else {
                    throw .invalid("dots that ascend within their context")
                }
                dots.append(dot)
            }
            guard !context.isEmpty, entries.last.map({ $0.element < element }) ?? true else {
                throw .invalid("elements that ascend, each with its context")
            }
            entries.append(Entry(element: element, dots: dots, context: context))
        }
    }
}
