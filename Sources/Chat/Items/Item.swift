import CRDT
import Wire

/// The importance of an action item to its owner; the raw values are the line protocol's words.
public enum ItemPriority: String, CaseIterable, Comparable, Sendable {
    case low, medium, high

    /// Orders priorities by their words, as clients order the values of a field.
    public static func < (left: ItemPriority, right: ItemPriority) -> Bool {
        left.rawValue < right.rawValue
    }
}

/// The time at which an action item is due.
public struct DueTime: Hashable, Comparable, Sendable {
    /// Milliseconds since 1970; negative for earlier times.
    public let milliseconds: Int64

    public init(milliseconds: Int64) { self.milliseconds = milliseconds }

    public static func < (left: DueTime, right: DueTime) -> Bool {
        left.milliseconds < right.milliseconds
    }
}

/// An action item: something that its owner means to do.
///
/// Each owner has a separate set of item ids, so items of two users may have the same id. If a user
/// adds two items under one id on two sides of a network partition, the earlier item wins. A
/// deletion is final, in whatever order the changes arrive.
///
/// In earlier versions all users shared one set of item ids, and of two users' items with one id
/// the earlier won. The changes to an item are therefore stored for each owner separately, so that
/// no change by one user applies to an item that a merge has given to another.
public struct Item: Hashable, Sendable {
    /// The immutable part of an item, set when it is added.
    public struct Header: Hashable, Sendable {
        public let created: Stamp
        public let owner: UserID
        /// The conversation of the message that the item came from.
        ///
        /// The conversation and the message are only links: nobody checks whether they exist, since
        /// another shard stores them.
        public let chat: ConversationID?
        public let message: MessageID?
        public let due: DueTime?
        public let priority: ItemPriority?
        /// The title; empty once the item is deleted.
        public internal(set) var title: FieldText
    }

    /// The content of an item that a mutation adds.
    public struct NewItem: Hashable, Sendable {
        public let title: FieldText
        public let due: DueTime?
        public let priority: ItemPriority?
        public let chat: ConversationID?
        public let message: MessageID?

        public init(
            title: String, due: DueTime? = nil, priority: ItemPriority? = nil,
            chat: ConversationID? = nil, message: MessageID? = nil
        ) {
            self.title = FieldText(title)
            self.due = due
            self.priority = priority
            self.chat = chat
            self.message = message
        }
    }

    /// The fields that a mutation of an item sets; a field that is nil stays unchanged.
    public struct Edit: Hashable, Sendable {
        public let title: FieldText?
        public let due: Clearable<DueTime>?
        public let priority: Clearable<ItemPriority>?

        public init(
            title: FieldText? = nil, due: Clearable<DueTime>? = nil,
            priority: Clearable<ItemPriority>? = nil
        ) {
            self.title = title
            self.due = due
            self.priority = priority
        }
    }

    public private(set) var header: Header
    /// The changes of the item by each of its owners; one entry for each owner, ascending by owner.
    var handlings: [OwnerState]

    init(_ header: Header) {
        self.header = header
        handlings = []
    }

    init(header: Header, handlings: [OwnerState]) {
        self.header = header
        self.handlings = handlings
    }

    private var handling: OwnerState? { handlings.first { $0.owner == header.owner } }

    public var owner: UserID { header.owner }
    public var title: String { (handling?.title?.value ?? header.title).text }
    public var due: DueTime? { handling?.due.map(\.value.value) ?? header.due }
    public var priority: ItemPriority? {
        handling?.priority.map(\.value.value) ?? header.priority
    }
    public var isDone: Bool { handling?.status?.value == .done }
    public var isDeleted: Bool { deletedAt != nil }
    var deletedAt: HybridTimestamp? { handling?.deletedAt }

    /// The time of the last change of the item by its present owner.
    var changedAt: HybridTimestamp {
        max(header.created.time, handling?.greatestTime ?? .zero)
    }

    var greatestTime: HybridTimestamp {
        handlings.reduce(header.created.time) { max($0, $1.greatestTime) }
    }
}

extension Item {
    var lastChanges: LastChanges {
        let created = header.created
        return LastChanges(
            (handling?.title?.stamp ?? created).time, (handling?.due?.stamp ?? created).time,
            (handling?.priority?.stamp ?? created).time, (handling?.status?.stamp ?? created).time)
    }

    /// Returns the stamps of the fields that `edit` overwrites.
    func stamps(of edit: Edit) -> [Stamp?] {
        var stamps: [Stamp?] = []
        if edit.title != nil { stamps.append(handling?.title?.stamp) }
        if edit.due != nil { stamps.append(handling?.due?.stamp) }
        if edit.priority != nil { stamps.append(handling?.priority?.stamp) }
        return stamps
    }

    /// The stamp of the last write of the item's status.
    var finishedAt: Stamp? { handling?.status?.stamp }

    func isChanged(by edit: Edit) -> Bool {
        edit.title.map { $0.text != title || !haveSameBytes($0.text, title) } ?? false
            || edit.due.map { $0.value != due } ?? false
            || edit.priority.map { $0.value != priority } ?? false
    }

    /// Applies `body` to the state of the item's present owner.
    mutating func handle(_ body: (inout OwnerState) -> Void) {
        var mine = handling ?? OwnerState(owner: header.owner)
        body(&mine)
        mergeOwnerState(mine)
        normalize()
    }

    mutating func merge(_ other: Item) {
        header = min(header, other.header)
        handlings = mergedAscending(handlings, other.handlings, by: \.owner) { mine, theirs in
            var both = mine
            both.merge(theirs)
            return both
        }
        normalize()
    }

    private mutating func mergeOwnerState(_ handling: OwnerState) {
        let index = handlings.firstIndex { $0.owner >= handling.owner } ?? handlings.endIndex
        if index < handlings.endIndex, handlings[index].owner == handling.owner {
            handlings[index].merge(handling)
        } else {
            handlings.insert(handling, at: index)
        }
    }

    /// Whether the item is in normal form: a deleted item has neither a title nor other fields.
    var isNormal: Bool {
        (!isDeleted || header.title.text.isEmpty) && handlings.allSatisfy(\.isNormal)
    }

    private mutating func normalize() {
        if isDeleted { header.title = FieldText("") }
    }
}

extension Item.Header: Comparable {
    /// Orders headers by stamp.
    ///
    /// Stamps are equal only for equal headers; the comparisons of the other fields make the order
    /// total over any decoded bytes.
    ///
    /// The title is compared last, since a deleted item has lost it.
    public static func < (left: Self, right: Self) -> Bool {
        guard left.created == right.created else { return left.created < right.created }
        guard left.owner == right.owner else { return left.owner < right.owner }
        guard left.links == right.links else {
            return left.links.lexicographicallyPrecedes(right.links)
        }
        guard left.due == right.due else { return Clearable(left.due) < Clearable(right.due) }
        guard left.priority == right.priority else {
            return Clearable(left.priority) < Clearable(right.priority)
        }
        return left.title < right.title
    }

    private var links: [String] { [chat?.text ?? "", message?.text ?? ""] }
}
