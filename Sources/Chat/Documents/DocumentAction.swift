import CRDT
import Wire

/// A user's change of a document of one kind.
///
/// Each action is a type in the file of its document's kind, with an entry in that kind's list of
/// actions: who may do what, what the document becomes, and how the action is encoded. An action
/// that only grows something (a message, a mark, a deletion for everyone) has the same result
/// however often and however late it is executed; the defaults of this protocol are right for it.
public protocol DocumentAction: Hashable, Sendable {
    associatedtype Content: DocumentContent

    /// The codes of the action on the wire: one, or one for each form; no two actions share a code,
    /// whatever they change.
    static var codes: [ActionCode] { get }

    var code: ActionCode { get }

    /// Reads what follows the code.
    init(code: ActionCode, from reader: inout ByteReader) throws(WireError)

    /// Writes what follows the code.
    func encodeRest(into writer: inout ByteWriter)

    // MARK: Execution

    /// Returns whether the action would change anything; throws where it is refused.
    func judge(
        _ content: Content?, by user: UserID, in circumstances: Circumstances
    ) throws(Refusal) -> Bool

    /// Returns the content with the action applied, which `judge` has accepted.
    ///
    /// - Parameter content: the content so far; nil where there is no document yet.
    func applied(
        to content: Content?, by user: UserID, _ author: Authorship,
        with findings: ParticipantFindings
    ) -> Content

    /// Returns the stamps of the values that the action overwrites; nil if it overwrites none.
    func stampsOverwritten(in content: Content) -> [Stamp?]?

    /// Returns when the value that the action sets has last changed, for the response to a client;
    /// the operation's own time if the value has been changed to something else since.
    ///
    /// The time is nil if nothing was ever set, or if several values have different times.
    func changeTime(
        in content: Content, by user: UserID, after operation: Stamp
    ) -> HybridTimestamp?

    /// Returns the state that an operation finds in the content that it changes.
    func standing(of operation: Stamp, by user: UserID, in content: Content) -> Standing

    /// Whether the action is recorded although the content is already as requested, because an
    /// operation of the same client up to `time` may still be executed and must then find a later
    /// write.
    func isRecorded(over content: Content, after time: HybridTimestamp) throws(Refusal) -> Bool

    /// Whether a stale operation that keeps its time is applied nevertheless: it then changes what
    /// is earlier, or leaves the record that a late operation of its client has to find.
    func isAppliedLate(_ operation: Stamp, to content: Content) -> Bool

    // MARK: Execution over any document

    // The same for a document of unknown kind. These methods are requirements, although their
    // defaults suit every action, because the compiler then specialises them for each action.

    func judgeDocument(
        _ document: Document?, by user: UserID, in circumstances: Circumstances
    ) throws(Refusal) -> Bool

    func appliedToDocument(
        _ document: Document?, by user: UserID, _ author: Authorship,
        with findings: ParticipantFindings
    ) -> Document.Content

    func standing(of operation: Stamp, by user: UserID, inDocument document: Document) -> Standing

    func changeTime(
        inDocument document: Document, by user: UserID, after operation: Stamp
    ) -> HybridTimestamp?

    func isRecorded(
        overDocument document: Document?, after time: HybridTimestamp
    ) throws(Refusal) -> Bool

    func isAppliedLate(_ operation: Stamp, toDocument document: Document?) -> Bool

    // MARK: Properties

    /// An upper bound of the bytes that the names in the action add to the document.
    func nameBytes(by user: UserID) -> Int

    var growth: ActionGrowth { get }

    /// The approximate size of the texts and names in the action, in bytes, where they may be long;
    /// otherwise 0.
    var roughBytes: Int { get }

    /// Whether it deletes something for its user or for everyone: a full disk accepts it.
    var deletes: Bool { get }

    /// Whether it creates a document whose id the node may choose.
    var mayBeMinted: Bool { get }

    /// Whether its user stops typing with it.
    var endsTyping: Bool { get }

    /// Whether only nodes and operators may do it, whoever the user is.
    var isForOperators: Bool { get }

    /// The users whom the action adds to the conversation, ascending.
    var added: [UserID] { get }

    /// Whether it begins an upload.
    var beginsUpload: Bool { get }

    /// The position at which the action sets a mark; nil if it sets none.
    var marking: Mutation.Marking? { get }

    /// Whether the accepting node determines which part of the conversation the action hides.
    var hides: Bool { get }

    /// Returns the files on which the action depends, or that it changes beside its own document.
    ///
    /// - Parameters:
    ///   - document: the document that the action changes; nil where there is none yet.
    ///   - key: the document's key.
    func files(besides document: Document?, at key: DocumentKey) -> [FileID]

    /// Returns the change of the message's files that comes with the action, in one commit; nil for
    /// none.
    func changeOfFiles(of message: MessageID) -> (any FileAction)?

    /// Whether one of the names that the action makes known meets a condition.
    func makesName(
        at key: DocumentKey, by user: UserID, where condition: (String) -> Bool
    ) -> Bool
}

/// The effect of an action on the size of its document.
public enum ActionGrowth: Sendable {
    /// The document grows for good.
    case adds
    /// Something is undone, or a mark is moved: no user and nothing permanent is added.
    case settles
    /// Little or nothing of the document remains: accepted at any size.
    case empties
}

/// What the accepting node finds beside the document when it judges a mutation.
public struct Circumstances: Sendable {
    /// The key of the document.
    public let key: DocumentKey
    /// The conversation to which the document belongs; nil where there is none.
    public let conversation: Conversation?
    /// The position of the message up to which the action sets a mark; nil where there is none.
    public let reached: HistoryPosition?
    /// The files that the action names; nil for those that do not exist.
    public let files: [File?]
    public let judge: Judge
}

extension DocumentAction {
    public var code: ActionCode { Self.codes[0] }

    public func encodeRest(into writer: inout ByteWriter) {}

    public func stampsOverwritten(in content: Content) -> [Stamp?]? { nil }

    public func changeTime(
        in content: Content, by user: UserID, after operation: Stamp
    ) -> HybridTimestamp? {
        timeOfWriting(operation, in: content)
    }

    /// Returns the operation's time if it has set one of the values; otherwise the time of the
    /// values, nil if there is none or if they differ.
    func timeOfWriting(
        _ operation: Stamp, in content: Content, orElse standard: HybridTimestamp? = nil
    ) -> HybridTimestamp? {
        guard let stamps = stampsOverwritten(in: content) else { return standard }
        if stamps.contains(operation) { return operation.time }
        let times = Set(stamps.map { $0?.time ?? standard })
        return times.count == 1 ? times.first ?? nil : nil
    }

    public func standing(of operation: Stamp, by user: UserID, in content: Content) -> Standing {
        standingOfWriting(operation, in: content)
    }

    /// Returns the standing by the values that the action overwrites; new if it overwrites none.
    func standingOfWriting(_ operation: Stamp, in content: Content) -> Standing {
        stampsOverwritten(in: content).map { .ofWriting(operation, over: $0) } ?? .new
    }

    public func isRecorded(
        over content: Content, after time: HybridTimestamp
    ) throws(Refusal) -> Bool {
        false
    }

    public func isAppliedLate(_ operation: Stamp, to content: Content) -> Bool { false }

    /// Whether the latest of the values that the action overwrites is no later than `time`.
    func overwritesOnlyEarly(in content: Content, _ time: HybridTimestamp) -> Bool {
        let latest = stampsOverwritten(in: content)?.compactMap(\.self).max()
        return (latest?.time ?? .zero) <= time
    }

    /// Whether one of the values that the action overwrites is no later than `time`.
    func overwritesSomeEarly(in content: Content, _ time: HybridTimestamp) -> Bool {
        stampsOverwritten(in: content)?.contains { ($0?.time ?? .zero) <= time } ?? false
    }

    func isEqual(to other: any DocumentAction) -> Bool { other as? Self == self }
}

extension DocumentAction {
    public func judgeDocument(
        _ document: Document?, by user: UserID, in circumstances: Circumstances
    ) throws(Refusal) -> Bool {
        try judge(document.flatMap { Content(of: $0) }, by: user, in: circumstances)
    }

    public func appliedToDocument(
        _ document: Document?, by user: UserID, _ author: Authorship,
        with findings: ParticipantFindings
    ) -> Document.Content {
        applied(to: document.flatMap { Content(of: $0) }, by: user, author, with: findings).wrapped
    }

    public func standing(
        of operation: Stamp, by user: UserID, inDocument document: Document
    ) -> Standing {
        Content(of: document).map { standing(of: operation, by: user, in: $0) } ?? .new
    }

    public func changeTime(
        inDocument document: Document, by user: UserID, after operation: Stamp
    ) -> HybridTimestamp? {
        Content(of: document).flatMap { changeTime(in: $0, by: user, after: operation) }
    }

    public func isRecorded(
        overDocument document: Document?, after time: HybridTimestamp
    ) throws(Refusal) -> Bool {
        guard let content = document.flatMap({ Content(of: $0) }) else { return false }
        return try isRecorded(over: content, after: time)
    }

    public func isAppliedLate(_ operation: Stamp, toDocument document: Document?) -> Bool {
        document.flatMap { Content(of: $0) }.map { isAppliedLate(operation, to: $0) } ?? false
    }
}

extension DocumentAction {
    public func nameBytes(by user: UserID) -> Int { nameBytesMax }
    public var growth: ActionGrowth { .adds }
    public var roughBytes: Int { 0 }
    public var deletes: Bool { false }
    public var mayBeMinted: Bool { false }
    public var endsTyping: Bool { false }
    public var isForOperators: Bool { false }
    public var added: [UserID] { [] }
    public var beginsUpload: Bool { false }
    public var marking: Mutation.Marking? { nil }
    public var hides: Bool { false }
    public func files(besides document: Document?, at key: DocumentKey) -> [FileID] { [] }
    public func changeOfFiles(of message: MessageID) -> (any FileAction)? { nil }
    public func makesName(
        at key: DocumentKey, by user: UserID, where condition: (String) -> Bool
    ) -> Bool { false }
}

/// An action that has no parameters.
public protocol PlainAction: DocumentAction {
    init()
}

extension PlainAction {
    public init(code: ActionCode, from reader: inout ByteReader) throws(WireError) { self.init() }
}
