import Wire

/// An observed-remove set in which an add wins over a concurrent remove.
///
/// Each add of an element is tagged with its operation. Each element keeps its live tags and its
/// own causal context (process → greatest counter), so a merge needs no data outside the element.
/// Within a process the order of counters is the causal order, so a later operation on an element
/// supersedes the earlier ones of its process: one record for each process contains both tag and
/// context. An operation that is executed twice or late does not change the result of a later
/// operation of its process, or of an operation that has seen it.
///
/// A removed element remains as its context, so a remove is never forgotten. Source: A. Bieniusa et
/// al., "An optimized conflict-free replicated set" (2012), with operations instead of dots.
public struct ObservedRemoveSet<Element: Comparable & Hashable & Sendable>: Hashable, Sendable {
    struct Entry: Hashable, Sendable {
        let element: Element
        /// Whether the element was ever added; a remove without an add is recorded, too.
        var wasAdded: Bool
        /// One record for each process that changed the element; ascending by process, never empty.
        var records: [ProcessRecord]

        var isElement: Bool { records.contains { $0.liveTime != nil } }
    }

    /// The entries of present and removed elements, ascending by element.
    private(set) var entries: [Entry]

    public init() { entries = [] }

    /// The elements of the set, ascending.
    public var elements: [Element] {
        // Closures are used, since a key path of a generic type is created at each use.
        entries.lazy.filter { $0.isElement }.map { $0.element }
    }

    /// The elements that were removed and not added again, ascending.
    public var removed: [Element] {
        entries.lazy.filter { !$0.isElement && $0.wasAdded }.map { $0.element }
    }

    public var isEmpty: Bool { entries.allSatisfy { !$0.isElement } }

    /// Returns whether all elements of this set are in `other`.
    public func isSubset(of other: ObservedRemoveSet) -> Bool {
        entries.allSatisfy { !$0.isElement || other.contains($0.element) }
    }

    public var count: Int { entries.count { $0.isElement } }

    public func contains(_ element: Element) -> Bool { entry(of: element)?.isElement ?? false }

    /// Whether `element` is or was an element.
    public func hasHeld(_ element: Element) -> Bool { entry(of: element)?.wasAdded ?? false }

    /// Returns the elements whose recorded operations differ from those in `old`, ascending; an
    /// element that was changed and changed back is among them.
    public func changed(since old: ObservedRemoveSet) -> [Element] {
        guard entries != old.entries else { return [] }
        return entries.lazy.filter { old.entry(of: $0.element) != $0 }.map { $0.element }
    }

    /// Returns the time of the last add of `element` that no remove has seen; nil if there is none.
    public func lastAdded(_ element: Element) -> HybridTimestamp? {
        entry(of: element)?.records.lazy.compactMap { $0.liveTime }.max()
    }

    /// Returns the number of clients' devices whose operations on `element` are recorded.
    public func devicesCount(_ element: Element) -> Int {
        entry(of: element)?.devicesCount ?? 0
    }

    /// The greatest time of a live tag; zero if there is no live tag.
    public var greatestTime: HybridTimestamp {
        entries.reduce(.zero) { max($0, $1.greatestTime) }
    }

    /// Returns the state of an operation that adds `element`: new, already executed, or one of too
    /// many devices.
    public func standing(ofAdding element: Element, by operation: Stamp) -> Standing {
        guard let entry = entry(of: element) else { return .new }
        guard entry.counter(of: operation.process) < operation.counter else { return .done }
        return entry.isFull(for: operation.process, max: ProcessID.devicesMax) ? .full : .new
    }

    /// Returns the state of an operation that removes `element`: new, already executed, too old, or
    /// one of too many devices, which are twice as many as for an addition.
    ///
    /// The operation counts as executed only if its own counter is recorded: a later operation of
    /// its process may have seen less than the operation's client.
    public func standing(ofRemoving element: Element, by operation: Stamp) -> Standing {
        guard let entry = entry(of: element) else { return .new }
        guard entry.counter(of: operation.process) != operation.counter else { return .done }
        guard !entry.isFull(for: operation.process, max: 2 * ProcessID.devicesMax) else {
            return .full
        }
        return entry.tagNotCovered(by: operation).map(Standing.stale) ?? .new
    }

    /// Adds `element`, unless a later operation of the same process is recorded.
    ///
    /// The tags of other processes remain, since a remove may have seen such an add and not the new
    /// one. If the clock of the process was set back, the later time of its own tag remains: a late
    /// remove that the earlier add survived must not undo the repeated add.
    public mutating func insert(_ element: Element, by operation: Stamp) {
        change(element) { entry in
            entry.record(operation.process) { record in
                guard record.counter < operation.counter else { return }
                record.counter = operation.counter
                record.liveTime = max(record.liveTime ?? .zero, operation.time)
            }
            entry.wasAdded = true
            #if PlantedBugs
                guard PlantedBug.addReplacesTags.isOn else { return }
                for index in entry.records.indices
                where entry.records[index].process != operation.process {
                    entry.records[index].liveTime = nil
                }
            #endif
        }
    }

    /// Records that an add has been executed, and adds nothing: wherever it is executed as well,
    /// its tag is removed.
    public mutating func supersede(_ element: Element, by operation: Stamp) {
        change(element) { entry in
            entry.record(operation.process) { $0.cover(upTo: operation.counter) }
            entry.wasAdded = true
        }
    }

    /// Removes every recorded add of `element` earlier than `operation`; a concurrent add survives.
    ///
    /// - Parameter unsettled: earlier operations of the client that may not have been executed yet;
    ///   if they are adds, they are removed in advance.
    public mutating func remove(
        _ element: Element, by operation: Stamp, after unsettled: [ProcessCounter] = []
    ) {
        change(element) { entry in
            for index in entry.records.indices
            where entry.records[index].isCovered(by: operation) {
                entry.records[index].liveTime = nil
            }
            let own = ProcessCounter(process: operation.process, counter: operation.counter)
            for earlier in unsettled + [own] {
                entry.record(earlier.process) { $0.cover(upTo: earlier.counter) }
            }
        }
        #if PlantedBugs
            if PlantedBug.removeNotRecorded.isOn {
                for index in entries.indices { entries[index].forget(operation) }
                entries.removeAll { $0.records.isEmpty }
            }
            if PlantedBug.setContextLost.isOn { entries.removeAll { $0.element == element } }
        #endif
    }

    public mutating func merge(_ other: ObservedRemoveSet) {
        guard !other.entries.isEmpty else { return }
        guard !entries.isEmpty else {
            entries = other.entries
            return
        }
        entries = merged(entries, other.entries)
    }

    private func entry(of element: Element) -> Entry? {
        let index = firstIndex(notBefore: element)
        return index < entries.count && entries[index].element == element ? entries[index] : nil
    }

    private mutating func change(_ element: Element, _ body: (inout Entry) -> Void) {
        let index = firstIndex(notBefore: element)
        if index == entries.count || entries[index].element != element {
            entries.insert(Entry(element: element, wasAdded: false, records: []), at: index)
        }
        body(&entries[index])
    }

    private func firstIndex(notBefore element: Element) -> Int {
        entries.partitioningIndex { $0.element >= element }
    }
}

/// The last operation of one process on one element.
///
/// A record supersedes the records of earlier operations: of two records, a merge keeps the record
/// of the later operation.
struct ProcessRecord: Hashable, Sendable {
    let process: ProcessID
    var counter: UInt64
    /// The time of the operation if it is an add that no remove has seen, which is a live tag.
    var liveTime: HybridTimestamp?

    /// Returns whether `operation` removes the live tag, since the add is earlier: by counter
    /// within one process, and by time between two processes.
    func isCovered(by operation: Stamp) -> Bool {
        guard let liveTime else { return true }
        #if PlantedBugs
            if PlantedBug.removeTakesLaterTags.isOn { return true }
        #endif
        return process == operation.process
            ? counter < operation.counter : liveTime < operation.time
    }

    /// Marks the process's operations up to a counter as removed.
    mutating func cover(upTo counter: UInt64) {
        guard self.counter <= counter else { return }
        self.counter = counter
        liveTime = nil
    }

    /// Merges two records; if both are of the same operation, its tag is live only if both have it.
    func merged(with other: ProcessRecord) -> ProcessRecord {
        guard counter == other.counter else { return counter < other.counter ? other : self }
        var merged = self
        // The times of one operation are equal; for any other bytes the later time wins, so that
        // the merge is a join.
        merged.liveTime = liveTime.flatMap { mine in other.liveTime.map { max(mine, $0) } }
        return merged
    }
}

extension ObservedRemoveSet.Entry {
    func counter(of process: ProcessID) -> UInt64 {
        records.first { $0.process == process }?.counter ?? 0
    }

    /// Whether the process is a device without a record, and `max` other devices have records.
    func isFull(for process: ProcessID, max: Int) -> Bool {
        process.isOfDevice && devicesCount >= max && counter(of: process) == 0
    }

    /// The number of clients' devices that have records.
    var devicesCount: Int { records.count { $0.process.isOfDevice } }

    var greatestTime: HybridTimestamp {
        records.reduce(.zero) { Swift.max($0, $1.liveTime ?? .zero) }
    }

    #if PlantedBugs
        /// Removes the record that a remove operation made of itself.
        mutating func forget(_ operation: Stamp) {
            records.removeAll {
                $0.process == operation.process && $0.counter == operation.counter
                    && $0.liveTime == nil
            }
        }
    #endif

    /// Returns the greatest time of a live tag that `operation` must not remove.
    func tagNotCovered(by operation: Stamp) -> HybridTimestamp? {
        records.lazy.filter { !$0.isCovered(by: operation) }.compactMap { $0.liveTime }.max()
    }

    mutating func record(_ process: ProcessID, _ body: (inout ProcessRecord) -> Void) {
        let index = records.firstIndex { $0.process >= process } ?? records.endIndex
        if index == records.endIndex || records[index].process != process {
            records.insert(ProcessRecord(process: process, counter: 0), at: index)
        }
        body(&records[index])
    }

    func merged(with other: Self) -> Self {
        var merged = self
        merged.wasAdded = wasAdded || other.wasAdded
        guard records != other.records else { return merged }
        merged.records = CRDT.merged(records, other.records)
        return merged
    }
}

extension ObservedRemoveSet: WireValue where Element: WireValue {
    public func encode(into writer: inout ByteWriter) {
        entries.encode(into: &writer)
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        entries = try reader.readList().ascending("elements", by: \.element)
    }
}

extension ObservedRemoveSet.Entry: WireValue where Element: WireValue {
    func encode(into writer: inout ByteWriter) {
        element.encode(into: &writer)
        writer.write(count: records.count << 1 | (wasAdded ? 1 : 0))
        for record in records { record.encode(into: &writer) }
    }

    init(from reader: inout ByteReader) throws(WireError) {
        element = try Element(from: &reader)
        let head = try reader.readCount()
        wasAdded = head & 1 == 1
        records = try reader.readElements(head >> 1).ascending("processes", by: \.process)
        guard !records.isEmpty else { throw .invalid("an element that some operation changed") }
        guard wasAdded || !isElement else { throw .invalid("what was added") }
    }
}

extension ProcessRecord: WireValue {
    func encode(into writer: inout ByteWriter) {
        writer.write(process)
        writer.write(varint: counter)
        liveTime.encode(into: &writer)
    }

    init(from reader: inout ByteReader) throws(WireError) {
        let last = try ProcessCounter(from: &reader)
        process = last.process
        counter = last.counter
        liveTime = try Optional(from: &reader)
    }
}
