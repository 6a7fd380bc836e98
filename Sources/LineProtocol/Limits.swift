import CRDT
import Chat

/// The limits of the line protocol, each with the error code of a request that exceeds it.
public enum LineLimits {
    /// The most bytes of a line without its line end (413): four times the longest text, so that a
    /// text in which every byte is escaped still fits into a line with its names and options.
    public static let lineBytesMax = 65_536

    /// The most bytes of a text without its escapes (413): about eight printed pages.
    public static let textBytesMax = ChatLimits.textBytesMax
    /// The bytes of each part of a file except the last part.
    public static let filePartBytes = FilePart.bytesMax
    /// The most bytes of a file's name (400).
    public static let fileNameBytesMax = DocumentKey.fileNameBytesMax
    /// The most bytes of a file; a longer file is refused.
    public static let fileBytesMax = File.bytesMax
    /// The limit for files that a user has uploaded and not sent, in bytes (429).
    ///
    /// At that sum the user can begin no other upload; the uploads of the user that one node is
    /// receiving may not announce more together, either.
    public static let unsentFileBytesMax = File.unsentBytesMax

    /// The most bytes of a title, name, e-mail address, photo or token (413).
    public static let fieldBytesMax = ChatLimits.titleBytesMax

    /// The most participants of a conversation (429).
    public static let participantsMax = ChatLimits.participantsMax

    /// The most messages in one `HISTORY` reply (400), so that a node can make the reply in memory.
    public static let historyMax = 1_000

    /// The most bytes of one reply (413): twice the size of a thousand texts of maximum length.
    ///
    /// A reply exceeds this limit only with texts full of control characters, or with lists of
    /// thousands of elements.
    public static let replyBytesMax = 32 << 20

    /// The number of messages that `HISTORY` returns without `limit=`.
    public static let historyDefault = 50

    /// The number of changes that `CHANGES` returns without `limit=`.
    public static let changesDefault = 50
    /// The allowed intervals of the heartbeats of a stream of events, in seconds.
    public static let heartbeatSeconds = 5...60

    /// The most bytes of a node's address (400); a member's entry has the same limit.
    public static let addressBytesMax = 256
    /// The greatest length of a session token, in bytes.
    public static let tokenBytesMax = Token.textBytesMax

    /// The longest timeout of `WAIT`, in milliseconds (400).
    public static let waitMillisecondsMax = 60_000
}
