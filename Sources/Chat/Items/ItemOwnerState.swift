import CRDT
import Wire

extension Item {
    /// The status of an action item: open or done.
    enum Status: UInt8, Comparable, Sendable {
        case open = 1
        case done = 2

        static func < (left: Status, right: Status) -> Bool { left.rawValue < right.rawValue }
    }

    /// The changes that one owner made to an item after it was added; each field is a
    /// last-writer-wins register.
    ///
    /// A deletion is final, removes all other fields and wins over all other changes.
    public struct OwnerState: Hashable, Sendable {
        let owner: UserID
        var title: Register<FieldText>?
        var due: Register<Clearable<DueTime>>?
        var priority: Register<Clearable<ItemPriority>>?
        var status: Register<Status>?
        /// The time of the deletion, the earlier of two; nil if the item is not deleted.
        private(set) var deletedAt: HybridTimestamp?

        var isDeleted: Bool { deletedAt != nil }

        init(owner: UserID) { self.owner = owner }

        var greatestTime: HybridTimestamp {
            [title?.stamp, due?.stamp, priority?.stamp, status?.stamp].reduce(
                deletedAt ?? .zero
            ) { max($0, $1?.time ?? .zero) }
        }

        mutating func set(_ edit: Edit, at stamp: Stamp) {
            if let title = edit.title { self.title.merge(Register(title, at: stamp)) }
            if let due = edit.due { self.due.merge(Register(due, at: stamp)) }
            if let priority = edit.priority { self.priority.merge(Register(priority, at: stamp)) }
        }

        mutating func finish(_ isDone: Bool, at stamp: Stamp) {
            status = Register(isDone ? .done : .open, at: stamp)
        }

        mutating func delete(at time: HybridTimestamp) {
            let first = min(deletedAt ?? time, time)
            self = OwnerState(owner: owner)
            deletedAt = first
        }

        mutating func merge(_ other: OwnerState) {
            if let time = deletedAt ?? other.deletedAt {
                return delete(at: min(time, other.deletedAt ?? time))
            }
            title.merge(other.title)
            due.merge(other.due)
            priority.merge(other.priority)
            status.merge(other.status)
        }

        /// Whether the state is in normal form: it is either deleted and has no fields, or has at
        /// least one field.
        var isNormal: Bool {
            let isEmpty = title == nil && due == nil && priority == nil && status == nil
            return isDeleted == isEmpty
        }
    }
}

extension Item.OwnerState: WireValue {
    public func encode(into writer: inout ByteWriter) {
        writer.write(owner)
        deletedAt.encode(into: &writer)
        guard !isDeleted else { return }
        title.encode(into: &writer)
        due.encode(into: &writer)
        priority.encode(into: &writer)
        status.encode(into: &writer)
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        self.init(owner: try reader.readName())
        deletedAt = try Optional(from: &reader)
        guard !isDeleted else { return }
        title = try Optional(from: &reader)
        due = try Optional(from: &reader)
        priority = try Optional(from: &reader)
        status = try Optional(from: &reader)
    }
}

extension Item.Status: WireValue {
    func encode(into writer: inout ByteWriter) { writer.write(rawValue) }

    init(from reader: inout ByteReader) throws(WireError) {
        guard let status = Item.Status(rawValue: try reader.readByte()) else {
            throw .invalid("whether it is done")
        }
        self = status
    }
}
