import CRDT
import Wire

/// A message as one user sees it.
public struct MessageView: Hashable, Sendable {
    /// The text shown in place of a message that is deleted for everyone.
    public static let placeholder = "[Message deleted]"

    public let id: MessageID
    public let from: UserID
    public let sentAt: HybridTimestamp
    public let type: MessageType
    public let text: String
    public let item: ItemID?
    public var attachment: Attachment?
    public let editedAt: HybridTimestamp?
    public let pinnedBy: UserID?
    public let pinnedAt: HybridTimestamp?
    public let isDeletedForEveryone: Bool
    /// The users who have deleted the message for themselves, ascending.
    public let deletedBy: [UserID]
    /// The users, except the sender, to whom the message was delivered, including its readers.
    public let deliveredTo: [UserID]
    /// The users, except the sender, who have read the message.
    public let readBy: [UserID]
    /// When the message was last unpinned, when the user last deleted it for themselves and
    /// restored it, and when its sender deleted it for everyone.
    public var lastChanges: LastChanges?

    var unpinnedAt: HybridTimestamp? { lastChanges?[0] }
    /// When the user deleted the message for themselves; nil for a message that the user sees.
    var hiddenAt: HybridTimestamp? { lastChanges?[1] }
    var restoredAt: HybridTimestamp? { lastChanges?[2] }
    var retractedAt: HybridTimestamp? { lastChanges?[3] }
}

extension Message {
    /// Returns the message as `user` sees it; nil if `user` deleted it for themselves.
    ///
    /// - Parameters:
    ///   - isExact: whether the view has the times of last changes.
    ///   - showsHidden: whether the view exists although `user` deleted the message for themselves.
    public func view(
        as id: MessageID, for user: UserID, among participants: ObservedRemoveSet<UserID>,
        progress: Progress = Progress(), isExact: Bool = false, showsHidden: Bool = false
    ) -> MessageView? {
        let isHidden = deletedBy.contains(user)
        guard !isHidden || showsHidden else { return nil }
        let isDeleted = isDeletedForEveryone(among: participants)
        let position = HistoryPosition(time: header.sent.time, id: id)
        let pinner = isDeleted ? nil : pin?.value.by
        return MessageView(
            id: id, from: header.sender, sentAt: header.sent.time, type: header.type,
            text: isDeleted ? MessageView.placeholder : text, item: header.item,
            attachment: isDeleted ? nil : header.attachment,
            editedAt: isDeleted ? nil : editedAt,
            pinnedBy: pinner, pinnedAt: pinner == nil ? nil : pin?.stamp.time,
            isDeletedForEveryone: isDeleted, deletedBy: deletedBy.elements,
            deliveredTo: progress.receivers(of: position, from: header.sender),
            readBy: progress.readers(of: position, from: header.sender),
            lastChanges: isExact || isHidden ? lastChanges(for: user, isHidden: isHidden) : nil)
    }

    private func lastChanges(for user: UserID, isHidden: Bool) -> LastChanges {
        let changed = deletionChanged(by: user)
        // The time of a deletion may be forgotten, but not the deletion.
        let hidden = changed ?? header.sent.time.next
        return LastChanges(
            isPinned ? nil : pin?.stamp.time, isHidden ? hidden : nil, isHidden ? nil : changed,
            retractedAt)
    }

    /// Returns the message without edits after `time`; the result is never stored.
    func without(editsAfter time: HybridTimestamp) -> Message {
        var message = self
        message.shown.versions.removeAll { time < $0.stamp.time }
        return message
    }

    /// Whether `user` sees the message's content: `user` has not deleted it for themselves, and it
    /// is not deleted for everyone.
    public func isShown(
        to user: UserID, among participants: ObservedRemoveSet<UserID>
    ) -> Bool {
        !deletedBy.contains(user) && !isDeletedForEveryone(among: participants)
    }

    /// Returns the message's texts, oldest first, each with the time from which it was shown;
    /// returns none if the message is deleted for everyone.
    public func edits(
        among participants: ObservedRemoveSet<UserID>
    ) -> [(at: HybridTimestamp, text: String)] {
        guard !isDeletedForEveryone(among: participants) else { return [] }
        var edits = [(at: header.sent.time, text: header.text)]
        // An edit with the same text as its predecessor may be stored, since an edit between the
        // two may still arrive; the history skips it.
        for version in versions where !haveSameBytes(edits.last?.text, version.text) {
            edits.append((version.stamp.time, version.text))
        }
        return edits
    }
}
