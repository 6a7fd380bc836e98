import Foundation

/// A change of the store.
///
/// The changes of one turn are stored as one.
enum StoreChange: Equatable, Sendable {
    case message(MessageRecord, conversation: String)
    case deleteMessage(id: String, conversation: String)
    /// Deletes all messages of a conversation that were sent at a time or before.
    case deleteMessages(conversation: String, through: ExactTime)
    case conversation(ConversationRecord)
    case mark(MarkRecord, conversation: String)
    case item(ItemRecord)
    case profile(ProfileRecord)
    case operation(Operation)
    case deleteOperation(UInt64)
    /// A file that is to be uploaded; nil if it has been, or is not sent.
    case file(Data?, id: String)
    /// The token of the last event, from which the stream goes on; nil if the state is to be read
    /// anew.
    case token(String?)
    /// What sure answers have to include, if it is not the token.
    case sessionTokens(SessionTokens)
    case signIn(SignIn?)
    /// Whether the lists have been read wholly.
    case loaded(Bool)
    /// The line of a conversation in the list of chats; nil if the list does not show it.
    case line(Conversation?, conversation: String)
    case deleteItems
    /// What is to be told of the refusal of an operation; nil if the app has been told.
    case refusal(Refusal?, number: UInt64)
    /// A mark that no node has accepted; nil removes it.
    case ownMark(Marks.Mark?, conversation: String, kind: Marks.Kind)
    /// The name of this device, by which nodes know its operations, and the time of the last one.
    case device(String, lastNumber: UInt64, lastStamp: Int64)
}
