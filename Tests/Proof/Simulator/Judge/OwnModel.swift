import CRDT
import Chat
import Wire

/// The expected content of profiles and action items, derived from the changes that they name.
extension Model {
    func check(_ profile: Profile) throws(Violation) {
        let name = lastEdit { $0.profileEdit?.name }
        let email = lastEdit { $0.profileEdit?.email }
        let photo = lastEdit { $0.profileEdit?.photo }
        guard profile.name == name?.value?.text, profile.email == email?.value?.text,
            profile.photo == photo?.value?.text,
            profile.created == entries.compactMap(\.stamp).min()
        else { throw violation(.claims, "says \(profile)") }
    }

    func check(_ item: Item) throws(Violation) {
        guard let header, let draft = (header.mutation.action as? AddItem)?.item else {
            throw violation(.claims, "was never added")
        }
        guard item.isDeleted == isDeletedByOwner else {
            throw violation(.deleted, "is deleted: \(item.isDeleted)")
        }
        guard item.header.created == header.stamp, item.owner == header.mutation.user,
            item.header.chat == draft.chat, item.header.message == draft.message
        else { throw violation(.claims, "has the head \(item.header)") }
        guard !item.isDeleted else {
            guard item.title.isEmpty else { throw violation(.deleted, "has a title") }
            return
        }
        guard item.view(as: ItemID(checked: key.partition)) == itemView else {
            throw violation(.claims, "says \(item)")
        }
    }

    func check(_ blocks: Blocks) throws(Violation) {
        let others = Set(entries.compactMap(\.mutation.action.blocked)).sorted()
        for view in blocks.views where !others.contains(view.user) {
            throw violation(.claims, "blocks \(view.user), whom nobody ever blocked")
        }
        for other in others {
            guard blocks.contains(other) == isBlocked(other) else {
                throw violation(.kept, "blocks \(other): \(blocks.contains(other))")
            }
            guard isBlocked(other) else { continue }
            let since = blocks.views.first { $0.user == other }?.since
            guard since == blockedSince(other) else {
                throw violation(.claims, "blocks \(other) since \(String(describing: since))")
            }
        }
    }

    /// Whether a block exists that no unblocking undid.
    private func isBlocked(_ other: UserID) -> Bool {
        isElement(
            addedBy: entries.filter { $0.mutation.makes(BlockUser(other)) },
            removedBy: entries.filter { $0.mutation.makes(UnblockUser(other)) })
    }

    /// The earliest block of those that were made where the latest unblocking was known, as far as
    /// a block was, and nothing was blocked.
    private func blockedSince(_ other: UserID) -> HybridTimestamp? {
        let begun = entries.compactMap { entry -> (after: HybridTimestamp, at: HybridTimestamp)? in
            guard entry.mutation.makes(BlockUser(other)) else { return nil }
            let past = Model(of: key, entries: entries.filter(entry.knew))
            let unblocks = past.entries.filter { $0.mutation.makes(UnblockUser(other)) }
            guard !past.isBlocked(other), !isVoid(entry, among: [entry], without: unblocks) else {
                return nil
            }
            let after = past.entries.filter { $0.mutation.makes(UnblockUser(other)) }
                .map(\.operation.time).max()
            return (after ?? .zero, entry.operation.time)
        }
        let last = begun.map(\.after).max()
        return begun.filter { $0.after == last }.map(\.at).min()
    }

    /// Whether the owner of the item deleted it.
    var isDeletedByOwner: Bool {
        entries.contains { $0.mutation.action is DeleteItem && $0.mutation.user == author }
    }

    /// The item as its owner must see it; nil once it is deleted.
    var itemView: ItemView? {
        guard let header, let draft = (header.mutation.action as? AddItem)?.item, !isDeletedByOwner
        else { return nil }
        let title = lastEdit(by: author) { $0.itemEdit?.title }
        let due = lastEdit(by: author) { $0.itemEdit?.due }
        let priority = lastEdit(by: author) { $0.itemEdit?.priority }
        return ItemView(
            id: ItemID(checked: key.partition),
            isDone: lastEdit(by: author) { $0.isFinished.map { $0 ? 1 : 0 } } == 1,
            due: due.map(\.value) ?? draft.due,
            priority: priority.map(\.value) ?? draft.priority, chat: draft.chat,
            message: draft.message, title: (title ?? draft.title).text)
    }

    /// Returns the value that the latest change gave a field; nil if no change did.
    private func lastEdit<Value: Comparable>(
        by user: UserID? = nil, _ field: (any DocumentAction) -> Value?
    ) -> Value? {
        let edits = entries.compactMap { entry -> (stamp: Stamp, value: Value)? in
            guard let stamp = entry.stamp, let value = field(entry.mutation.action),
                user == nil || user == entry.mutation.user
            else { return nil }
            return (stamp, value)
        }
        return edits.max { ($0.stamp.time, $0.value) < ($1.stamp.time, $1.value) }?.value
    }
}

extension DocumentAction {
    var profileEdit: Profile.Edit? { (self as? SetProfile)?.edit }
    var itemEdit: Item.Edit? { (self as? EditItem)?.edit }
    /// Whom the action blocks or unblocks, if anybody.
    var blocked: UserID? { (self as? any BlocksAction)?.other }
    var isFinished: Bool? { (self as? FinishItem)?.isDone }
}
