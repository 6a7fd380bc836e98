import Wire

/// The events of what belongs to one user and to no conversation.
extension Document {
    /// What changed; all of it where it was not there.
    ///
    /// - Parameter isKnown: whether `before` is what was there; else nobody knows what was.
    func ownAddressedEvents(since before: Document?, isKnown: Bool = true) -> [AddressedEvent] {
        if let item, let id = ItemID(key.partition) {
            return addressedEvents(of: item, id, since: before?.item)
        }
        if let profile, let user = UserID(key.partition) {
            let view = profile.view(of: user)
            let old = before?.profile?.view(of: user)
            guard old != view else { return [] }
            let change = ProfileChange(view, replacing: isKnown ? old?.sum ?? 0 : nil)
            return [AddressedEvent(change, at: profile.greatestTime)]
        }
        return []
    }

    /// An item is its owner's alone; one that turns out to be another's is gone for who lost it.
    private func addressedEvents(
        of item: Item, _ id: ItemID, since before: Item?
    ) -> [AddressedEvent] {
        func tell(_ kind: Event.Kind, _ owner: UserID) -> AddressedEvent {
            AddressedEvent(Event(kind, in: nil, by: owner, at: item.changedAt), to: [owner])
        }
        var told: [AddressedEvent] = []
        if let before, before.owner != item.owner, !before.isDeleted {
            told.append(tell(.actionDeleted(id), before.owner))
        }
        if item.isDeleted {
            if before.map({ !$0.isDeleted || $0.owner != item.owner }) ?? true {
                told.append(tell(.actionDeleted(id), item.owner))
            }
        } else if before.map({ $0.owner != item.owner || $0.view(as: id) != item.view(as: id) })
            ?? true
        {
            told.append(tell(.action(item.view(as: id)), item.owner))
        }
        return told
    }
}
