import CRDT
import Wire

extension Blocks {
    /// A user's change of whom they have blocked.
    public enum Action: Hashable, Sendable {
        case block(UserID)
        case unblock(UserID)
    }
}

extension Blocks.Action {
    private var other: UserID {
        switch self {
        case .block(let other), .unblock(let other): other
        }
    }

    /// Returns whether the action is executed; throws where it is refused.
    ///
    /// An action is executed also where the state is as requested: a change that contradicts it may
    /// still be on its way from another node.
    func judge(_ blocks: Blocks?, by user: UserID) throws(Refusal) -> Bool {
        guard other != user else { throw .userThemselves }
        let hasCapacity = blocks?.hasCapacity(for: other) ?? true
        guard case .block = self else { return hasCapacity }
        let isBlocked = blocks?.contains(other) ?? false
        guard isBlocked || (hasCapacity && (blocks?.count ?? 0) < Blocks.countMax) else {
            throw .tooManyBlocked
        }
        return true
    }

    func applied(to content: Blocks?, _ author: Authorship) -> Blocks {
        var blocks = content ?? Blocks()
        switch self {
        case .block(let other): blocks.block(other, by: author.stamp)
        case .unblock(let other): blocks.unblock(other, by: author)
        }
        return blocks
    }
}

extension Blocks.Action: DocumentAction {
    public func standing(of operation: Stamp, by user: UserID, in content: Blocks) -> Standing {
        content.standing(of: operation, for: self)
    }

    public func nameBytes(by user: UserID) -> Int { 2 * other.text.utf8.count }

    public var growth: ActionGrowth {
        switch self {
        case .block: .adds
        case .unblock: .settles
        }
    }

    public var kind: UInt8 {
        switch self {
        case .block: 70
        case .unblock: 71
        }
    }

    public func encodeRest(into writer: inout ByteWriter) { writer.write(other) }

    init?(kind: UInt8, from reader: inout ByteReader) throws(WireError) {
        switch kind {
        case 70: self = .block(try reader.readName())
        case 71: self = .unblock(try reader.readName())
        default: return nil
        }
    }
}
