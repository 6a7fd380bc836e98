/// What a message is: a text, a picture, a voice message, or one that the app or the cluster has
/// made.
public struct MessageType: RawRepresentable, Hashable, Codable, Sendable, ExpressibleByStringLiteral
{
    /// The word for it, as nodes and apps write it.
    public let rawValue: String

    /// A text.
    public static let text: MessageType = "text"
    /// A picture.
    public static let image: MessageType = "image"
    /// A voice message.
    public static let voice: MessageType = "voice"
    /// A message about the conversation itself.
    public static let system: MessageType = "system"
    /// A message about an action item.
    public static let action: MessageType = "action"

    /// Makes a type of any word; nodes may know more of them than this version.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Makes a type of a literal.
    public init(stringLiteral word: String) { self.init(rawValue: word) }
}

/// The state of a message of the user: waiting on this device, accepted by the cluster, received by
/// all other participants, or read by them.
public struct MessageStatus: RawRepresentable, Hashable, Codable, Sendable,
    ExpressibleByStringLiteral
{
    /// The word for it.
    public let rawValue: String

    /// The message waits on this device.
    public static let waiting: MessageStatus = "waiting"
    /// The cluster has the message.
    public static let sent: MessageStatus = "sent"
    /// All other participants have received the message.
    public static let delivered: MessageStatus = "delivered"
    /// All other participants have read the message.
    public static let read: MessageStatus = "read"

    /// Makes a status of any word, such as one that an app has stored.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Makes a status of a literal.
    public init(stringLiteral word: String) { self.init(rawValue: word) }
}
