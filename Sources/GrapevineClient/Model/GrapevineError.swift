import Foundation

/// An error of the cluster, or of a rule that the client judges before it asks: a status, as in
/// HTTP, and a sentence for people.
public struct GrapevineError: Error, Hashable, Codable, Sendable {
    /// The status: 0 if no node has answered.
    public let code: Int
    /// The sentence.
    public let message: String
    /// A word for programs, such as `conversation_not_found`, which stays the same when the
    /// sentence changes; empty if there is none.
    public let reason: String

    /// Makes an error.
    public init(code: Int, message: String, reason: String = "") {
        self.code = code
        self.message = message
        self.reason = reason
    }

    /// Nobody is signed in.
    public static let unauthorized = GrapevineError(
        code: 401, message: "User not authenticated", reason: "not_signed_in")
    /// The message is not there, or this device does not know it.
    public static let messageNotFound = GrapevineError(
        code: 404, message: "Message not found", reason: "message_not_found")
    /// The file is not there.
    public static let fileNotFound = GrapevineError(
        code: 404, message: "File not found", reason: "file_not_found")
    /// The user does not take part in the conversation.
    static let notParticipant = "not_participant"
    /// The text of a message has nothing but white space.
    public static let emptyMessage = GrapevineError(
        code: 400, message: "Message cannot be empty", reason: "empty_text")
    /// The message of another user is to be deleted for everyone.
    public static let notSender = GrapevineError(
        code: 403, message: "Only the sender can delete for everyone", reason: "not_yours")
    /// The message is another user's, or too old to be edited.
    public static let notEditable = GrapevineError(
        code: 403, message: "You can only edit your own messages within 15 minutes",
        reason: "edit_window_over")
    /// A thousand changes wait for the network.
    public static let tooManyWaiting = GrapevineError(
        code: 429, message: "Too many changes wait for the network", reason: "too_many_waiting")
    /// No node has answered.
    public static let noAnswer = GrapevineError(
        code: 0, message: "No node answers", reason: "no_answer")

    /// Returns the error of a change that this device cannot store.
    static func notStored(_ error: StoreError) -> GrapevineError {
        GrapevineError(code: 507, message: error.description, reason: "not_stored")
    }

    /// Whether the cluster does not know the token of the request.
    var isOfToken: Bool { reason.hasPrefix("token_") }

    /// Whether the same request would be answered in the same way again.
    public var isFinal: Bool { [400, 403, 404, 405, 409, 413].contains(code) }
}

extension GrapevineError: LocalizedError {
    /// The sentence.
    public var errorDescription: String? { message }
}
