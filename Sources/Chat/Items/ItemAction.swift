import CRDT
import Wire

extension Item {
    /// A user's change of one of their action items.
    public enum Action: Hashable, Sendable {
        case add(NewItem)
        case edit(Edit)
        /// Marks the item as done, or as open again.
        case finish(Bool)
        case delete
    }
}

extension Item.Action {
    /// Returns whether the action would change anything; throws where it is refused.
    func judge(_ item: Item?, by user: UserID) throws(Refusal) -> Bool {
        if case .add(let newItem) = self { return try judgeAddition(of: newItem, item, by: user) }
        guard let item else { throw .itemNotFound }
        guard item.owner == user else { throw .notOwner }
        if self == .delete { return !item.isDeleted }
        guard !item.isDeleted else { throw .itemNotFound }
        switch self {
        case .edit(let edit): return item.isChanged(by: edit)
        case .finish(let isDone): return item.isDone != isDone
        case .add, .delete: return true
        }
    }

    private func judgeAddition(
        of newItem: Item.NewItem, _ existing: Item?, by user: UserID
    ) throws(Refusal) -> Bool {
        guard let existing else { return true }
        let header = existing.header
        // The comparison is with what was first added: a repetition is recognised as one whatever
        // became of the item.
        let isSame =
            header.title == newItem.title && header.due == newItem.due
            && header.priority == newItem.priority && header.chat == newItem.chat
            && header.message == newItem.message
        guard header.owner == user, existing.isDeleted || isSame else { throw .itemExists }
        return false
    }

    func applied(to content: Item?, by user: UserID, _ author: Authorship) -> Item {
        if case .add(let newItem) = self {
            return Item(
                Item.Header(
                    created: author.stamp, owner: user, chat: newItem.chat,
                    message: newItem.message, due: newItem.due, priority: newItem.priority,
                    title: newItem.title))
        }
        guard var item = content else { preconditionFailure("judge refuses what is not there") }
        item.handle { state in
            switch self {
            case .edit(let edit): state.set(edit, at: author.stamp)
            case .finish(let isDone): state.finish(isDone, at: author.stamp)
            case .delete: state.delete(at: author.stamp.time)
            case .add: break
            }
        }
        return item
    }
}

extension Item.Action: DocumentAction {
    public func stampsOverwritten(in content: Item) -> [Stamp?]? {
        switch self {
        case .edit(let edit): content.stamps(of: edit)
        case .finish: [content.finishedAt]
        case .add, .delete: nil
        }
    }

    public func isRecorded(over content: Item, after time: HybridTimestamp) -> Bool {
        switch self {
        case .edit: overwritesSomeEarly(in: content, time)
        case .finish: overwritesOnlyEarly(in: content, time)
        case .add, .delete: false
        }
    }

    public func nameBytes(by user: UserID) -> Int {
        if case .edit = self { ChatLimits.titleBytesMax } else { nameBytesMax }
    }

    public var growth: ActionGrowth {
        switch self {
        case .add, .edit: .adds
        case .finish: .settles
        case .delete: .empties
        }
    }

    public var roughBytes: Int {
        switch self {
        case .add, .edit: 3 * ChatLimits.titleBytesMax
        case .finish, .delete: 0
        }
    }

    public var deletes: Bool { self == .delete }

    public var mayBeMinted: Bool {
        if case .add = self { return true }
        return false
    }

    public var kind: UInt8 {
        switch self {
        case .add: 16
        case .edit: 17
        case .finish: 18
        case .delete: 19
        }
    }

    public func encodeRest(into writer: inout ByteWriter) {
        switch self {
        case .add(let newItem): newItem.encode(into: &writer)
        case .edit(let edit): edit.encode(into: &writer)
        case .finish(let isDone): writer.write(isDone)
        case .delete: break
        }
    }

    init?(kind: UInt8, from reader: inout ByteReader) throws(WireError) {
        switch kind {
        case 16: self = .add(try Item.NewItem(from: &reader))
        case 17: self = .edit(try Item.Edit(from: &reader))
        case 18: self = .finish(try reader.readFlag())
        case 19: self = .delete
        default: return nil
        }
    }
}
