import CRDT
import Wire

/// A user's change of a document of one kind.
///
/// Each kind of document lists its actions in a file of its own: who may do what, what the document
/// becomes, and how the action is encoded. An action that only grows something (a message, a mark,
/// a deletion for everyone) has the same result however often and however late it is executed; the
/// defaults of this protocol are right for it.
public protocol DocumentAction: Hashable, Sendable {
    associatedtype Content

    /// The number of the action on the wire; no two actions have the same, whatever they change.
    var kind: UInt8 { get }

    /// Writes what follows the kind.
    func encodeRest(into writer: inout ByteWriter)

    /// Returns the stamps of the values that the action overwrites; nil if it overwrites none.
    func stampsOverwritten(in content: Content) -> [Stamp?]?

    /// Returns the state that an operation finds in the content that it changes.
    func standing(of operation: Stamp, by user: UserID, in content: Content) -> Standing

    /// Whether the action is recorded although the content is already as requested, because an
    /// operation of the same client up to `time` may still be executed and must then find a later
    /// write.
    func isRecorded(over content: Content, after time: HybridTimestamp) throws(Refusal) -> Bool

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

extension DocumentAction {
    public func encodeRest(into writer: inout ByteWriter) {}

    public func stampsOverwritten(in content: Content) -> [Stamp?]? { nil }

    public func standing(of operation: Stamp, by user: UserID, in content: Content) -> Standing {
        standingOfWriting(operation, in: content)
    }

    /// Returns the standing by the values that the action overwrites; new if it overwrites none.
    func standingOfWriting(_ operation: Stamp, in content: Content) -> Standing {
        stampsOverwritten(in: content).map { .ofWriting(operation, over: $0) } ?? .new
    }

    public func isRecorded(over content: Content, after time: HybridTimestamp) throws(Refusal)
        -> Bool
    {
        false
    }

    /// Whether the latest of the values that the action overwrites is no later than `time`.
    func overwritesOnlyEarly(in content: Content, _ time: HybridTimestamp) -> Bool {
        let latest = stampsOverwritten(in: content)?.compactMap(\.self).max()
        return (latest?.time ?? .zero) <= time
    }

    /// Whether one of the values that the action overwrites is no later than `time`.
    func overwritesSomeEarly(in content: Content, _ time: HybridTimestamp) -> Bool {
        stampsOverwritten(in: content)?.contains { ($0?.time ?? .zero) <= time } ?? false
    }

    public func nameBytes(by user: UserID) -> Int { nameBytesMax }
    public var growth: ActionGrowth { .adds }
    public var roughBytes: Int { 0 }
    public var deletes: Bool { false }
    public var mayBeMinted: Bool { false }
    public var endsTyping: Bool { false }

    func isEqual(to other: any DocumentAction) -> Bool { other as? Self == self }
}
