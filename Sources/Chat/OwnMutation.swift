import CRDT
import Wire

/// Mutations of documents that belong to one user and to no conversation: profiles, devices and
/// action items.
extension Mutation {
    /// Creates a mutation by which users set their own profile.
    public init(_ edit: Profile.Edit, by user: UserID) {
        self.init(.setProfile(edit), of: .user(user), by: user)
    }

    public init(_ action: Action, on item: ItemID, by user: UserID) {
        self.init(action, of: .item(item), by: user)
    }

    /// Returns whether the mutation would change `target`; throws where it is refused.
    func judgeOwn(_ target: Document?) throws(Refusal) -> Bool {
        switch action {
        case .setProfile(let edit):
            return target?.profile?.isChanged(by: edit) ?? true
        case .seedProfile:
            return target == nil
        case .addItem(let newItem):
            return try judgeAddition(newItem, existing: target?.item)
        case .device(_, let action):
            return try action.judge(target?.device)
        default:
            return try judgeChange(of: target?.item)
        }
    }

    private func judgeAddition(
        _ newItem: Item.NewItem, existing: Item?
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

    private func judgeChange(of item: Item?) throws(Refusal) -> Bool {
        guard let item else { throw .itemNotFound }
        guard item.owner == user else { throw .notOwner }
        switch action {
        case .deleteItem: return !item.isDeleted
        case _ where item.isDeleted: throw .itemNotFound
        case .editItem(let edit): return item.isChanged(by: edit)
        case .finishItem(let isDone): return item.isDone != isDone
        default: preconditionFailure("its subject is an item, and so is what it does")
        }
    }

    /// Returns the document that the mutation creates where there is none.
    func createdOwn(by author: Authorship) -> Document {
        switch action {
        case .setProfile(let edit), .seedProfile(let edit):
            var profile = Profile(created: author.stamp)
            profile.set(edit, at: author.stamp)
            return Document(.profile(profile), at: key, by: author.dot)
        case .addItem(let newItem):
            let header = Item.Header(
                created: author.stamp, owner: user, chat: newItem.chat, message: newItem.message,
                due: newItem.due, priority: newItem.priority, title: newItem.title)
            return Document(.item(Item(header)), at: key, by: author.dot)
        case .device(_, .add(let token)):
            return Document(.device(Device(token, at: author.stamp)), at: key, by: author.dot)
        default:
            preconditionFailure("judge accepts no change of what is not there")
        }
    }

    func change(_ profile: inout Profile, by author: Authorship) {
        guard case .setProfile(let edit) = action else {
            preconditionFailure("its key is not a profile's")
        }
        profile.set(edit, at: author.stamp)
    }

    func change(_ item: inout Item, by author: Authorship) {
        item.handle { handling in
            switch action {
            case .editItem(let edit): handling.set(edit, at: author.stamp)
            case .finishItem(let isDone): handling.finish(isDone, at: author.stamp)
            case .deleteItem: handling.delete(at: author.stamp.time)
            default: preconditionFailure("its key is not an item's, or judge accepts it once")
            }
        }
    }
}
