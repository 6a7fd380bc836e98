import CRDT
import Wire

/// A user's change of one of their action items.
///
/// Each action is a type, with its entry in `Item.actions`.
public protocol ItemAction: DocumentAction where Content == Item {}

extension ItemAction {
    public func changeTime(
        in content: Item, by user: UserID, after operation: Stamp
    ) -> HybridTimestamp? {
        content.deletedAt
            ?? timeOfWriting(operation, in: content, orElse: content.header.created.time)
    }
}

extension Item {
    static let actions: [any DocumentAction.Type] = [
        AddItem.self, EditItem.self, FinishItem.self, DeleteItem.self,
    ]
}

extension Mutation {
    public convenience init(_ action: some ItemAction, on item: ItemID, by user: UserID) {
        self.init(action, at: .item(item, of: user), by: user)
    }
}

/// An action that adds an item.
public struct AddItem: ItemAction {
    public static let codes: [ActionCode] = [16]

    public let item: Item.NewItem

    public init(_ item: Item.NewItem) { self.item = item }

    public init(code: ActionCode, from reader: inout ByteReader) throws(WireError) {
        item = try Item.NewItem(from: &reader)
    }

    public func encodeRest(into writer: inout ByteWriter) { item.encode(into: &writer) }

    public func judge(
        _ existing: Item?, by user: UserID, in circumstances: Circumstances
    ) throws(Refusal) -> Bool {
        guard let existing else { return true }
        let header = existing.header
        // The comparison is with what was first added: a repetition is recognised as one whatever
        // became of the item.
        let isSame =
            header.title == item.title && header.due == item.due
            && header.priority == item.priority && header.chat == item.chat
            && header.message == item.message
        guard header.owner == user, existing.isDeleted || isSame else { throw .itemExists }
        return false
    }

    public func applied(
        to content: Item?, by user: UserID, _ author: Authorship,
        with findings: ParticipantFindings
    ) -> Item {
        Item(
            Item.Header(
                created: author.stamp, owner: user, chat: item.chat, message: item.message,
                due: item.due, priority: item.priority, title: item.title))
    }

    public var roughBytes: Int { 3 * ChatLimits.titleBytesMax }
    public var mayBeMinted: Bool { true }

    public func makesName(
        at key: DocumentKey, by user: UserID, where condition: (String) -> Bool
    ) -> Bool {
        condition(key.partition) || condition(user.text)
    }
}

// MARK: Changes

/// An action that changes an item that was added.
public protocol ItemChange: ItemAction {
    /// Returns whether the action would change an item that is not deleted.
    func changes(_ item: Item) -> Bool

    func apply(to state: inout Item.OwnerState, _ author: Authorship)
}

extension ItemChange {
    public func judge(
        _ item: Item?, by user: UserID, in circumstances: Circumstances
    ) throws(Refusal) -> Bool {
        let item = try item.owned(by: user)
        guard !item.isDeleted else { throw .itemNotFound }
        return changes(item)
    }

    public func applied(
        to content: Item?, by user: UserID, _ author: Authorship,
        with findings: ParticipantFindings
    ) -> Item {
        guard var item = content else { preconditionFailure("judge refuses what is not there") }
        item.handle { apply(to: &$0, author) }
        return item
    }
}

/// An action that changes fields of an item.
public struct EditItem: ItemChange {
    public static let codes: [ActionCode] = [17]

    public let edit: Item.Edit

    public init(_ edit: Item.Edit) { self.edit = edit }

    public init(code: ActionCode, from reader: inout ByteReader) throws(WireError) {
        edit = try Item.Edit(from: &reader)
    }

    public func encodeRest(into writer: inout ByteWriter) { edit.encode(into: &writer) }

    public func changes(_ item: Item) -> Bool { item.isChanged(by: edit) }

    public func apply(to state: inout Item.OwnerState, _ author: Authorship) {
        state.set(edit, at: author.stamp)
    }

    public func stampsOverwritten(in content: Item) -> [Stamp?]? { content.stamps(of: edit) }

    public func isRecorded(over content: Item, after time: HybridTimestamp) -> Bool {
        overwritesSomeEarly(in: content, time)
    }

    public func isAppliedLate(_ operation: Stamp, to content: Item) -> Bool {
        overwritesSomeEarly(in: content, operation.time)
    }

    public func nameBytes(by user: UserID) -> Int { ChatLimits.titleBytesMax }
    public var roughBytes: Int { 3 * ChatLimits.titleBytesMax }
}

/// An action that marks an item as done, or as open again.
public struct FinishItem: ItemChange {
    public static let codes: [ActionCode] = [18]

    public let isDone: Bool

    public init(_ isDone: Bool) { self.isDone = isDone }

    public init(code: ActionCode, from reader: inout ByteReader) throws(WireError) {
        isDone = try reader.readFlag()
    }

    public func encodeRest(into writer: inout ByteWriter) { writer.write(isDone) }

    public func changes(_ item: Item) -> Bool { item.isDone != isDone }

    public func apply(to state: inout Item.OwnerState, _ author: Authorship) {
        state.finish(isDone, at: author.stamp)
    }

    public func stampsOverwritten(in content: Item) -> [Stamp?]? { [content.finishedAt] }

    public func isRecorded(over content: Item, after time: HybridTimestamp) -> Bool {
        overwritesOnlyEarly(in: content, time)
    }

    public var growth: ActionGrowth { .settles }
}

/// An action that deletes an item.
public struct DeleteItem: ItemChange, PlainAction {
    public static let codes: [ActionCode] = [19]

    public init() {}

    public func judge(
        _ item: Item?, by user: UserID, in circumstances: Circumstances
    ) throws(Refusal) -> Bool {
        changes(try item.owned(by: user))
    }

    public func changes(_ item: Item) -> Bool { !item.isDeleted }

    public func apply(to state: inout Item.OwnerState, _ author: Authorship) {
        state.delete(at: author.stamp.time)
    }

    public var growth: ActionGrowth { .empties }
    public var deletes: Bool { true }
}

extension Item? {
    /// Returns the item if it exists and belongs to `user`.
    func owned(by user: UserID) throws(Refusal) -> Item {
        guard let item = self else { throw .itemNotFound }
        guard item.owner == user else { throw .notOwner }
        return item
    }
}
