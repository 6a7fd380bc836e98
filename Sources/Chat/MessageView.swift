import CRDT
import Wire

/// A message as one user sees it.
public struct MessageView: Hashable, Sendable {
    /// What shows in place of a text deleted for everyone.
    public static let placeholder = "[Message deleted]"

    public let id: MessageID
    public let from: UserID
    public let sentAt: HybridTimestamp
    public let type: MessageType
    public let text: String
    public let item: ItemID?
    public let editedAt: HybridTimestamp?
    public let pinnedBy: UserID?
    public let pinnedAt: HybridTimestamp?
    public let isDeletedForEveryone: Bool
    /// Ascending.
    public let deletedBy: [UserID]
    /// Without the sender; who has read it included.
    public let deliveredTo: [UserID]
    /// Without the sender.
    public let readBy: [UserID]
}

extension Message {
    /// What `user` sees of it: nothing where they deleted it for themselves.
    public func view(
        as id: MessageID, for user: UserID, among participants: ObservedRemoveSet<UserID>,
        progress: Progress = Progress()
    ) -> MessageView? {
        guard !deletedBy.contains(user) else { return nil }
        let isDeleted = isDeletedForEveryone(among: participants)
        let position = HistoryPosition(time: header.sent.time, id: id)
        let pinner = isDeleted ? nil : pin?.value.by
        return MessageView(
            id: id, from: header.sender, sentAt: header.sent.time, type: header.type,
            text: isDeleted ? MessageView.placeholder : text, item: header.item,
            editedAt: isDeleted ? nil : editedAt,
            pinnedBy: pinner, pinnedAt: pinner == nil ? nil : pin?.stamp.time,
            isDeletedForEveryone: isDeleted, deletedBy: deletedBy.elements,
            deliveredTo: progress.receivers(of: position, from: header.sender),
            readBy: progress.readers(of: position, from: header.sender))
    }

    /// Whether `user` sees its text or what stands for it.
    public func isShown(
        to user: UserID, among participants: ObservedRemoveSet<UserID>
    ) -> Bool {
        !deletedBy.contains(user) && !isDeletedForEveryone(among: participants)
    }

    /// Its texts, oldest first, each with the time from which it showed: none once it is deleted
    /// for everyone.
    public func edits(
        among participants: ObservedRemoveSet<UserID>
    ) -> [(at: HybridTimestamp, text: String)] {
        guard !isDeletedForEveryone(among: participants) else { return [] }
        var edits = [(at: header.sent.time, text: header.text)]
        // A text that was there already is stored only where an earlier edit might come yet.
        for version in versions where !haveSameBytes(edits.last?.text, version.text) {
            edits.append((version.stamp.time, version.text))
        }
        return edits
    }
}
