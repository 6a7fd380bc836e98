/// A part of the confirmed state, as an event, an answer or an accepted operation tells it.
///
/// Parts may be merged in any order, and twice.
enum Update: Equatable, Sendable {
    case message(MessageRecord, conversation: String)
    case mark(MarkRecord, conversation: String)
    case archived(Register<Flag>, conversation: String)
    /// The user has hidden or left the conversation; `through` is the time of the last message that
    /// is hidden in any case, if it is known.
    case cleared(ExactTime, through: ExactTime?, hasLeft: Bool, conversation: String)
    /// The user has created the conversation.
    case created(ConversationRecord.Row, conversation: String)
    /// Somebody has joined or left the conversation: its row is to be read again.
    case membership(conversation: String)
    case item(ItemRecord)
    case profile(ProfileRecord)
}
