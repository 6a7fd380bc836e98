import CRDT
import Wire

/// The senders whose messages a user does not see, each from a time on; made of the user's
/// `Blocks`, and sent along with a query of theirs.
public struct BlockedSenders: Hashable, Sendable {
    /// Ascending by user.
    private let views: [BlockView]

    public static let none = BlockedSenders()

    private init() { views = [] }

    public init(of blocks: Blocks) { views = blocks.views }

    public var isEmpty: Bool { views.isEmpty }

    /// Whether what `sender` sent at `time` is not shown to the user.
    public func hides(_ sender: UserID, at time: HybridTimestamp) -> Bool {
        since(sender).map { $0 < time } ?? false
    }

    /// Whether a message is not shown to the user; what is deleted for everyone is not, either.
    public func hides(_ message: Message) -> Bool {
        !isEmpty && hides(message.header.sender, at: message.header.sent.time)
    }

    public func hides(_ document: Document) -> Bool {
        guard !isEmpty, let message = document.message else { return false }
        return hides(message)
    }

    private func since(_ sender: UserID) -> HybridTimestamp? {
        var (low, high) = (0, views.count)
        while low < high {
            let middle = (low + high) / 2
            if views[middle].user < sender { low = middle + 1 } else { high = middle }
        }
        return low < views.count && views[low].user == sender ? views[low].since : nil
    }

    /// Returns how many of the messages that `run` counts as sent by others, and as not deleted,
    /// are not shown to `user`; nil where its messages have to be read.
    public func hidden(from user: UserID, in run: CountedRun) -> Int? {
        var count = 0
        for view in views where view.since < run.end && run.counts.names(view.user) {
            guard view.since < run.start, let sent = run.counts.sent(by: view.user, to: user) else {
                return nil
            }
            count += sent
        }
        return count
    }
}

extension BlockedSenders: WireValue {
    public func encode(into writer: inout ByteWriter) { views.encode(into: &writer) }

    public init(from reader: inout ByteReader) throws(WireError) {
        views = try reader.readList(limit: BlockedSenders.countMax)
            .ascending("blocked senders", by: \.user)
    }

    /// As many as two sides of a network partition may have blocked.
    private static let countMax = 16 * Blocks.countMax
}
