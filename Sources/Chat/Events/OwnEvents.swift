import Wire

/// The events of documents that belong to one user and to no conversation.
extension Document {
    /// Returns the events of the changes since `before`; if `before` is nil, the events of the
    /// whole document.
    ///
    /// - Parameter isKnown: whether `before` is the previous state; if false, the previous state is
    ///   unknown.
    func ownAddressedEvents(since before: Document?, isKnown: Bool = true) -> [AddressedEvent] {
        if let item, let id = ItemID(key.partition) {
            return addressedEvents(of: item, id, since: before?.item)
        }
        if let profile, let user = UserID(key.partition) {
            let view = profile.view(of: user, isExact: true)
            let old = before?.profile?.view(of: user)
            guard before?.profile != profile else { return [] }
            let change = ProfileChange(view, replacing: isKnown ? old?.sum ?? 0 : nil)
            return [AddressedEvent(change, at: profile.greatestTime)]
        }
        if let blocks, blocks != before?.blocks, let user = UserID(key.partition) {
            let event = Event(.blocks(blocks), in: nil, by: user, at: blocks.greatestTime)
            return [AddressedEvent(event, to: [user])]
        }
        return []
    }

    /// Returns the events of an item, which only its owner receives.
    ///
    /// If a merge gives the item another owner, its former owner receives a deletion.
    private func addressedEvents(
        of item: Item, _ id: ItemID, since before: Item?
    ) -> [AddressedEvent] {
        func event(_ kind: Event.Kind, _ owner: UserID) -> AddressedEvent {
            AddressedEvent(Event(kind, in: nil, by: owner, at: item.changedAt), to: [owner])
        }
        var told: [AddressedEvent] = []
        if let before, before.owner != item.owner, !before.isDeleted {
            told.append(event(.actionDeleted(id), before.owner))
        }
        if item.isDeleted {
            if before.map({ !$0.isDeleted || $0.owner != item.owner }) ?? true {
                told.append(event(.actionDeleted(id), item.owner))
            }
        } else if before != item {
            told.append(event(.action(item.view(as: id, isExact: true)), item.owner))
        }
        return told
    }
}
