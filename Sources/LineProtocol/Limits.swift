import CRDT
import Chat

/// The limits of the line protocol, each with the code of the error beyond it.
public enum LineLimits {
    /// The most bytes of a line before its end (413): four times the longest text, so that a text
    /// whose every byte is escaped still fits beside its names and options.
    public static let lineBytesMax = 65_536

    /// The most bytes of a text after unescaping (413): some eight printed pages.
    public static let textBytesMax = ChatLimits.textBytesMax
    /// The bytes of each part of a file but the last.
    public static let filePartBytes = FilePart.bytesMax
    /// The most bytes of a file's name (400).
    public static let fileNameBytesMax = DocumentKey.fileNameBytesMax
    /// The most bytes of a file.
    public static let fileBytesMax = File.bytesMax
    /// The bytes that a user has uploaded and not sent with which no other upload begins, and the
    /// most that the heads of a user's uploads under way at one node promise together (429).
    public static let unsentFileBytesMax = File.unsentBytesMax

    /// The most bytes of a title, name, e-mail address, photo or token (413).
    public static let fieldBytesMax = ChatLimits.titleBytesMax

    /// The most participants of a conversation (429).
    public static let participantsMax = ChatLimits.participantsMax

    /// The most messages in one `HISTORY` reply (400), so that a reply stays in memory.
    public static let historyMax = 1_000

    /// The most bytes of one reply (413): about a thousand of the longest texts, twice.
    ///
    /// Only texts that are full of control characters exceed it, and lists of thousands.
    public static let replyBytesMax = 32 << 20

    /// The number of messages that `HISTORY` returns without `limit=`.
    public static let historyDefault = 50

    /// The number of changes that `CHANGES` returns without `limit=`.
    public static let changesDefault = 50

    /// The most bytes of a node's address (400), which is also what a member's entry holds.
    public static let addressBytesMax = 256
    /// The greatest length of a session token, in bytes.
    public static let tokenBytesMax = Token.textBytesMax

    /// The longest timeout of `WAIT`, in milliseconds (400).
    public static let waitMillisecondsMax = 60_000
}
