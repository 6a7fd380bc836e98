import Foundation

/// What an app is to do about a message that has arrived.
public enum NotificationDecision: Hashable, Sendable {
    /// The reason for which nothing is shown.
    public enum Silence: Hashable, Sendable {
        /// The user has sent the message.
        case own
        /// The message was accepted a minute ago or earlier.
        case old
        /// The message was missed, and is told while the client catches up.
        case catchingUp
        /// The user is looking at the conversation.
        case viewing
        /// The message is not new, or it is about the conversation itself.
        case notNew
    }

    /// Show a notification.
    case notify
    /// Show nothing.
    case silent(Silence)
    /// Remove the notification of the message, which was deleted.
    case withdraw
}

/// What an app knows when a message arrives.
public struct NotificationContext: Hashable, Sendable {
    /// The id of the signed-in user.
    public var userId: String
    /// Whether the app is in the foreground.
    public var isInForeground: Bool
    /// The id of the conversation that is on screen.
    public var viewedConversationId: String?
    /// Whether the client is told what it has missed.
    public var isCatchingUp: Bool
    /// Whether the message was not known before.
    public var isNew: Bool
    /// The time of this device.
    public var now: Date

    /// Makes a context.
    public init(
        userId: String, isInForeground: Bool, viewedConversationId: String? = nil,
        isCatchingUp: Bool = false, isNew: Bool = true, now: Date = Date()
    ) {
        self.userId = userId
        self.isInForeground = isInForeground
        self.viewedConversationId = viewedConversationId
        self.isCatchingUp = isCatchingUp
        self.isNew = isNew
        self.now = now
    }
}

/// Returns what to do about a message that has arrived.
///
/// A message of another user that is new, was accepted less than a minute ago, and is not on screen
/// is worth a notification; its deletion withdraws it.
public func notificationDecision(
    for message: Message, in context: NotificationContext
) -> NotificationDecision {
    if message.isDeletedForEveryone || message.isDeleted(for: context.userId) { return .withdraw }
    if message.senderId == context.userId { return .silent(.own) }
    if !context.isNew || message.type == .system { return .silent(.notNew) }
    if context.isCatchingUp { return .silent(.catchingUp) }
    let age = context.now.timeIntervalSince(message.createdAt)
    if age >= 60 { return .silent(.old) }
    let isViewed = context.viewedConversationId == message.conversationId
    return context.isInForeground && isViewed ? .silent(.viewing) : .notify
}
