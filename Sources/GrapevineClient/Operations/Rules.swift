import Foundation

extension Action {
    /// Returns the error with which nodes would refuse the action, as far as this device can judge:
    /// nil if it cannot.
    ///
    /// Rules are judged in the order of nodes: who is signed in, what is asked, whether it is
    /// there, and who may do it.
    ///
    /// - Parameters:
    ///   - user: the signed-in user; nil for none.
    ///   - message: the message of the action, if this device knows it.
    ///   - now: the time of this device.
    func refusal(user: String?, message: Message?, now: Date) -> GrapevineError? {
        guard let user else { return .unauthorized }
        if let text = requiredText, text.allSatisfy(\.isWhitespace) { return .emptyMessage }
        guard needsMessage else { return nil }
        guard let message else { return .messageNotFound }
        switch self {
        case .edit: return message.canEdit(by: user, now: now) ? nil : .notEditable
        case .deleteForEveryone: return message.senderId == user ? nil : .notSender
        default: return nil
        }
    }

    /// The text that may not be empty.
    private var requiredText: String? {
        switch self {
        case .send(_, _, let draft): draft.blob == nil ? draft.text : nil
        case .edit(_, _, let text): text
        default: nil
        }
    }

    /// Whether the action needs a message that this device knows.
    ///
    /// One that the user has deleted may be restored without.
    private var needsMessage: Bool {
        switch self {
        case .edit, .delete, .deleteForEveryone, .pin, .unpin: true
        default: false
        }
    }
}
