import CRDT
import Wire

/// The number of messages in a run of a conversation's history, in all and for each user: what
/// unread counts and previews are derived from without reading the messages.
///
/// It equals what counting the messages one by one gives; `sent` alone may be wider.
public struct MessageCounts: Hashable, Sendable {
    /// One user's part; of the messages that are not retracted unless said otherwise.
    struct Share: Hashable, Sendable {
        let user: UserID
        /// Sent by the user, who has not deleted them for themselves.
        var own = 0
        /// Deleted by the user for themselves.
        var deleted = 0
        /// The same of retracted messages.
        var deletedRetracted = 0

        var isEmpty: Bool { own == 0 && deleted == 0 && deletedRetracted == 0 }
    }

    /// The seqs of one replica between which the messages were sent.
    struct Sent: Hashable, Sendable {
        let replica: ReplicaID
        var seqs: ClosedRange<UInt64>
    }

    public private(set) var messages = 0
    private var retracted = 0
    /// Ascending by user; none of them empty.
    private var shares: [Share] = []
    /// Ascending by replica: every message of the run was sent within these, or was once.
    private var sent: [Sent] = []

    public init() {}

    /// How many of them `user` sees and was sent by others, deleted messages left out.
    public func unread(of user: UserID) -> Int {
        let share = share(of: user)
        return messages - retracted - (share?.own ?? 0) - (share?.deleted ?? 0)
    }

    /// How many of them `user` sees, messages deleted for everyone left out.
    public func shown(to user: UserID) -> Int {
        messages - retracted - (share(of: user)?.deleted ?? 0)
    }

    /// How many of them `user` sees, placeholders included.
    public func seen(by user: UserID) -> Int {
        let share = share(of: user)
        return messages - (share?.deleted ?? 0) - (share?.deletedRetracted ?? 0)
    }

    /// Whether all of them were sent within a vector, or none; nil where that is not known.
    public func areSent(within vector: Vector) -> Bool? {
        var isOutside = true
        var isInside = true
        for entry in sent {
            var run = SeqSet()
            run.insert(entry.seqs)
            let seqs = vector.seqs(of: entry.replica)
            if seqs.isSuperset(of: run) {
                isOutside = false
            } else {
                isInside = false
                if run.subtracting(seqs) != run { isOutside = false }
            }
        }
        return isInside ? true : isOutside ? false : nil
    }

    /// Whether nothing that is counted differs.
    public func countsSame(as other: MessageCounts) -> Bool {
        messages == other.messages && retracted == other.retracted && shares == other.shares
    }

    // MARK: Counting

    /// Counts a message, or takes it out with -1.
    public mutating func add(_ document: Document, times sign: Int = 1) {
        guard let message = document.message else { return }
        messages += sign
        if message.isRetracted { retracted += sign }
        let sender = message.header.sender
        // Most messages are deleted by nobody.
        if !message.deletedBy.isEmpty {
            for user in message.deletedBy.elements {
                change(user) {
                    if message.isRetracted {
                        $0.deletedRetracted += sign
                    } else {
                        $0.deleted += sign
                    }
                }
            }
        }
        if !message.isRetracted, !message.deletedBy.contains(sender) {
            change(sender) { $0.own += sign }
        }
        guard sign > 0 else { return }
        let dot = message.header.dot
        widen(Sent(replica: dot.replica, seqs: dot.seq...dot.seq))
    }

    public mutating func add(_ other: MessageCounts, times sign: Int = 1) {
        messages += sign * other.messages
        retracted += sign * other.retracted
        for share in other.shares {
            change(share.user) {
                $0.own += sign * share.own
                $0.deleted += sign * share.deleted
                $0.deletedRetracted += sign * share.deletedRetracted
            }
        }
        guard sign > 0 else { return }
        for entry in other.sent { widen(entry) }
    }

    /// The counts without some of the messages.
    public func without(_ other: MessageCounts) -> MessageCounts {
        var rest = self
        rest.add(other, times: -1)
        return rest
    }

    private func share(of user: UserID) -> Share? {
        let index = shares.firstIndex { $0.user >= user } ?? shares.count
        return index < shares.count && shares[index].user == user ? shares[index] : nil
    }

    private mutating func change(_ user: UserID, _ body: (inout Share) -> Void) {
        let index = shares.firstIndex { $0.user >= user } ?? shares.count
        if index == shares.count || shares[index].user != user {
            shares.insert(Share(user: user), at: index)
        }
        body(&shares[index])
        if shares[index].isEmpty { shares.remove(at: index) }
    }

    private mutating func widen(_ entry: Sent) {
        let index = sent.firstIndex { $0.replica >= entry.replica } ?? sent.count
        guard index < sent.count, sent[index].replica == entry.replica else {
            sent.insert(entry, at: index)
            return
        }
        let old = sent[index].seqs
        sent[index].seqs =
            min(old.lowerBound, entry.seqs.lowerBound)...max(old.upperBound, entry.seqs.upperBound)
    }
}

extension MessageCounts: WireValue {
    public func encode(into writer: inout ByteWriter) {
        writer.write(count: messages)
        writer.write(count: retracted)
        writer.write(count: shares.count)
        for share in shares {
            writer.write(share.user)
            writer.write(count: share.own)
            writer.write(count: share.deleted)
            writer.write(count: share.deletedRetracted)
        }
        writer.write(count: sent.count)
        for entry in sent {
            writer.write(entry.replica)
            writer.write(varint: entry.seqs.lowerBound)
            writer.write(varint: entry.seqs.upperBound)
        }
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        messages = try MessageCounts.readNumber(from: &reader)
        retracted = try MessageCounts.readNumber(from: &reader)
        for _ in 0..<(try reader.readCount()) {
            var share = Share(user: try reader.readName())
            share.own = try MessageCounts.readNumber(from: &reader)
            share.deleted = try MessageCounts.readNumber(from: &reader)
            share.deletedRetracted = try MessageCounts.readNumber(from: &reader)
            shares.append(share)
        }
        for _ in 0..<(try reader.readCount()) {
            let replica: ReplicaID = try reader.readID()
            let (first, last) = (try reader.readVarint(), try reader.readVarint())
            guard first <= last else { throw .invalid("seqs that ascend") }
            sent.append(Sent(replica: replica, seqs: first...last))
        }
        guard zip(shares, shares.dropFirst()).allSatisfy({ $0.user < $1.user }),
            zip(sent, sent.dropFirst()).allSatisfy({ $0.replica < $1.replica })
        else { throw .invalid("counts of messages") }
    }

    /// A number of messages, which are not among the bytes.
    private static func readNumber(from reader: inout ByteReader) throws(WireError) -> Int {
        guard let number = Int(exactly: try reader.readVarint()) else {
            throw .invalid("a number of messages")
        }
        return number
    }
}

/// A run of a conversation's history with its counts, as the disk keeps it: an index, made from
/// the messages alone.
///
/// Runs of a level lie one behind the other. Those of the first hold some 64 messages, those of
/// each further level some 64 runs. Which times begin a run is a hash's to say: it depends neither
/// on the order in which messages come nor on what their senders choose. The newest messages, and
/// whatever no run covers, are counted one by one.
public struct CountedRun: Hashable, Sendable {
    /// The time of the first messages that the run may hold.
    public let start: HybridTimestamp
    /// The time before which all of its messages were sent.
    public let end: HybridTimestamp
    public var counts: MessageCounts

    public init(from start: HybridTimestamp, to end: HybridTimestamp, _ counts: MessageCounts) {
        self.start = start
        self.end = end
        self.counts = counts
    }

    /// The levels: four times 6 bits are 16 million messages in a run of the last.
    public static let levels: ClosedRange<UInt8> = 1...4

    /// A power of two: how many parts a run has, on an average.
    public static let fanOutBits = 6

    /// Up to which level a run begins at a time; 0 where none does.
    public static func level(at time: HybridTimestamp, fanOutBits: Int = fanOutBits) -> UInt8 {
        // The finalizer of SplitMix64.
        var bits = time.bits &+ 0x9e37_79b9_7f4a_7c15
        bits = (bits ^ (bits >> 30)) &* 0xbf58_476d_1ce4_e5b9
        bits = (bits ^ (bits >> 27)) &* 0x94d0_49bb_1331_11eb
        bits ^= bits >> 31
        return min(levels.upperBound, UInt8(bits.trailingZeroBitCount / fanOutBits))
    }
}

extension CountedRun: WireValue {
    public func encode(into writer: inout ByteWriter) {
        start.encode(into: &writer)
        end.encode(into: &writer)
        counts.encode(into: &writer)
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        start = try HybridTimestamp(from: &reader)
        end = try HybridTimestamp(from: &reader)
        counts = try MessageCounts(from: &reader)
    }
}
