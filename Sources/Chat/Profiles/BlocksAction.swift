import CRDT
import Wire

/// A user's change of the users whom they have blocked.
///
/// Each action is a type, with its entry in `Blocks.actions`. An action is executed also where the
/// state is as requested: a change that contradicts it may still be on its way from another node.
public protocol BlocksAction: DocumentAction where Content == Blocks {
    var other: UserID { get }

    init(_ other: UserID)

    func apply(to blocks: inout Blocks, _ author: Authorship)
}

extension Blocks {
    static let actions: [any DocumentAction.Type] = [BlockUser.self, UnblockUser.self]
}

extension Mutation {
    public convenience init(_ action: some BlocksAction, by user: UserID) {
        self.init(action, at: .blocks(user), by: user)
    }
}

extension BlocksAction {
    public init(code: ActionCode, from reader: inout ByteReader) throws(WireError) {
        self.init(try reader.readName())
    }

    public func encodeRest(into writer: inout ByteWriter) { writer.write(other) }

    public func applied(
        to content: Blocks?, by user: UserID, _ author: Authorship,
        with findings: ParticipantFindings
    ) -> Blocks {
        var blocks = content ?? Blocks()
        apply(to: &blocks, author)
        return blocks
    }

    public func nameBytes(by user: UserID) -> Int { 2 * other.text.utf8.count }
}

/// An action by which a user blocks another.
public struct BlockUser: BlocksAction {
    public static let codes: [ActionCode] = [70]

    public let other: UserID

    public init(_ other: UserID) { self.other = other }

    public func judge(
        _ blocks: Blocks?, by user: UserID, in circumstances: Circumstances
    ) throws(Refusal) -> Bool {
        guard other != user else { throw .userThemselves }
        guard let blocks, !blocks.contains(other) else { return true }
        guard blocks.hasCapacity(for: other), blocks.count < Blocks.countMax else {
            throw .tooManyBlocked
        }
        return true
    }

    public func apply(to blocks: inout Blocks, _ author: Authorship) {
        blocks.block(other, by: author.stamp)
    }

    public func standing(of operation: Stamp, by user: UserID, in content: Blocks) -> Standing {
        content.standing(ofBlocking: other, by: operation)
            .unless(operation, precedes: content.unblocked(other))
    }

    public func isAppliedLate(_ operation: Stamp, to content: Blocks) -> Bool { true }

    public func isRecorded(over content: Blocks, after time: HybridTimestamp) -> Bool {
        content.lastBlocked(other) <= time
    }

    public func changeTime(
        in content: Blocks, by user: UserID, after operation: Stamp
    ) -> HybridTimestamp? {
        content.blocked(other) ?? operation.time
    }
}

/// An action by which a user unblocks another.
public struct UnblockUser: BlocksAction {
    public static let codes: [ActionCode] = [71]

    public let other: UserID

    public init(_ other: UserID) { self.other = other }

    /// The removal of a user who is not in the set needs an entry, for which there may be no
    /// capacity.
    public func judge(
        _ blocks: Blocks?, by user: UserID, in circumstances: Circumstances
    ) throws(Refusal) -> Bool {
        guard other != user else { throw .userThemselves }
        return blocks?.hasCapacity(for: other) ?? true
    }

    public func apply(to blocks: inout Blocks, _ author: Authorship) {
        blocks.unblock(other, by: author)
    }

    public func standing(of operation: Stamp, by user: UserID, in content: Blocks) -> Standing {
        content.standing(ofUnblocking: other, by: operation)
    }

    public func isAppliedLate(_ operation: Stamp, to content: Blocks) -> Bool { true }

    public var growth: ActionGrowth { .settles }

    public func changeTime(
        in content: Blocks, by user: UserID, after operation: Stamp
    ) -> HybridTimestamp? {
        content.contains(other) ? operation.time : content.unblocked(other)
    }
}
