/// A change of the user that was shown, and that the cluster has refused later: it is taken back.
public struct Refusal: Hashable, Codable, Sendable {
    /// The error with which nodes have refused it.
    public let error: GrapevineError
    /// The id of the conversation, if the change was in one.
    public let conversationId: String?
    /// The id of the message that was to be sent or changed, if it was one.
    public let messageId: String?
    /// The text that the user has written, which is worth being offered again.
    public let text: String?
    /// The number of the operation.
    let number: UInt64

    init(_ operation: Operation, _ error: GrapevineError) {
        self.error = error
        number = operation.number
        conversationId = operation.action.conversation
        messageId = operation.action.message
        text =
            switch operation.action {
            case .send(_, _, let draft): draft.text
            case .edit(_, _, let text): text
            case .addItem(let draft): draft.title
            default: nil
            }
    }
}
