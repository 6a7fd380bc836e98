import CRDT
import Wire

/// The senders whose messages a user does not see, each with the time from which they are hidden;
/// it is made from the user's `Blocks` and sent with the user's queries.
public struct BlockedSenders: Hashable, Sendable {
    /// The blocked senders, ascending by user.
    private let views: [BlockView]

    public static let none = BlockedSenders()

    private init() { views = [] }

    public init(of blocks: Blocks) { views = blocks.views }

    public var isEmpty: Bool { views.isEmpty }

    /// Returns whether a message that `sender` sent at `time` is hidden from the user.
    public func hides(_ sender: UserID, at time: HybridTimestamp) -> Bool {
        since(sender).map { $0 < time } ?? false
    }

    /// Returns whether a message is hidden from the user, including its placeholder if it is
    /// deleted for everyone.
    public func hides(_ message: Message) -> Bool {
        !isEmpty && hides(message.header.sender, at: message.header.sent.time)
    }

    public func hides(_ document: Document) -> Bool {
        guard !isEmpty, let message = document.message else { return false }
        return hides(message)
    }

    /// Returns a message as the user sees it: without edits that its sender made after the block.
    public func shown(_ message: Message) -> Message {
        guard !isEmpty, let edited = message.editedAt, let since = since(message.header.sender),
            since < edited
        else { return message }
        return message.without(editsAfter: since)
    }

    private func since(_ sender: UserID) -> HybridTimestamp? {
        let index = views.partitioningIndex { $0.user >= sender }
        return index < views.count && views[index].user == sender ? views[index].since : nil
    }

    /// Returns the number of messages of a run that only the blocks hide from `user`; nil if the
    /// counts do not determine it, so that the messages have to be read.
    ///
    /// - Parameter areRetractedCounted: whether placeholders of messages deleted for everyone
    ///   count.
    public func hidden(
        from user: UserID, in run: CountedRun, countingRetracted areRetractedCounted: Bool = false
    ) -> Int? {
        guard !isEmpty else { return 0 }
        let sendings = run.counts.sendings(of: views.lazy.map(\.user), to: user) { sender in
            guard let since = since(sender), since < run.end else { return false }
            return since < run.start ? true : nil
        }
        return sendings.map { $0.shown + (areRetractedCounted ? $0.retracted : 0) }
    }
}

extension BlockedSenders: WireValue {
    public func encode(into writer: inout ByteWriter) { views.encode(into: &writer) }

    public init(from reader: inout ByteReader) throws(WireError) {
        views = try reader.readList(limit: BlockedSenders.countMax)
            .ascending("blocked senders", by: \.user)
    }

    /// The most blocked senders: as many as sixteen sides of a network partition can have blocked.
    private static let countMax = 16 * Blocks.countMax
}
