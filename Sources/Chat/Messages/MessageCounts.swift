import CRDT
import Wire

/// The number of messages in a run of a conversation's history, in total and for each user; unread
/// counts and previews are derived from it without reading the messages.
///
/// The numbers equal the result of counting each message; only the ranges in `sent` may be wider
/// than necessary.
public struct MessageCounts: Hashable, Sendable {
    /// The counts of one user; only counts with `Retracted` in their names include retracted
    /// messages.
    struct Share: Hashable, Sendable {
        let user: UserID
        /// The number of messages sent by the user and not deleted by the user for themselves.
        var own = 0
        /// The number of messages deleted by the user for themselves.
        var deleted = 0
        /// The number of retracted messages deleted by the user for themselves.
        var deletedRetracted = 0
        /// The number of messages both sent by the user and deleted by the user for themselves.
        var ownDeleted = 0
        /// The number of retracted messages sent by the user.
        var ownRetracted = 0

        var isEmpty: Bool {
            own == 0 && deleted == 0 && deletedRetracted == 0 && ownDeleted == 0
                && ownRetracted == 0
        }
    }

    /// A range of seqs of one replica id that includes all its sendings of messages of the run.
    struct Sent: Hashable, Sendable {
        let replica: ReplicaID
        var seqs: ClosedRange<UInt64>
    }

    public private(set) var messages = 0
    private var retracted = 0
    /// The counts of each user, ascending by user; none is empty.
    private var shares: [Share] = []
    /// Whether `ownDeleted` and `ownRetracted` are counted: rows that earlier versions wrote lack
    /// these counts.
    private var areSendersCounted = true
    /// The seqs of the sendings, one range for each replica id, ascending; the ranges include every
    /// message that is or was in the run.
    private var sent: [Sent] = []

    public init() {}

    /// Returns the number of messages that `user` sees and has not sent, without deleted messages.
    public func unread(of user: UserID) -> Int {
        let share = share(of: user)
        return messages - retracted - (share?.own ?? 0) - (share?.deleted ?? 0)
    }

    /// Returns the number of messages that `user` sees, without messages that are deleted for
    /// everyone.
    public func shown(to user: UserID) -> Int {
        messages - retracted - (share(of: user)?.deleted ?? 0)
    }

    /// Returns the number of messages that `user` sees, including placeholders of deleted messages.
    public func seen(by user: UserID) -> Int {
        let share = share(of: user)
        return messages - (share?.deleted ?? 0) - (share?.deletedRetracted ?? 0)
    }

    /// Returns whether the run may contain a message that `user` has sent, deleted or not.
    public func mayHaveSendings(of user: UserID) -> Bool {
        guard let share = share(of: user) else { return false }
        return share.own + share.ownDeleted + share.ownRetracted > 0 || !areSendersCounted
    }

    /// The number of messages of some senders in a run.
    struct Sendings: Hashable, Sendable {
        /// The number of messages that are not retracted.
        var shown = 0
        var retracted = 0
    }

    /// Returns the number of messages that `user` sees of the senders for whom `body` returns true;
    /// nil if the counts do not determine the number, or `body` returns nil.
    ///
    /// - Parameters:
    ///   - senders: the senders, ascending.
    ///   - body: a closure that is called for each sender with messages in the run.
    func sendings<Senders: Collection<UserID>>(
        of senders: Senders, to user: UserID, where body: (UserID) -> Bool?
    ) -> Sendings? {
        var sum = Sendings()
        var rest = shares[...]
        for sender in senders {
            rest = rest.drop { $0.user < sender }
            guard let share = rest.first else { break }
            guard share.user == sender else { continue }
            guard let isMeant = body(sender) else { return nil }
            guard isMeant else { continue }
            guard areSendersCounted else { return nil }
            sum.shown += share.own + share.ownDeleted
            sum.retracted += share.ownRetracted
        }
        guard sum != Sendings() else { return sum }
        // The messages that a user has deleted for themselves are not counted by sender, so the
        // number is known only if the user has deleted none.
        let own = self.share(of: user)
        return own?.deleted ?? 0 == 0 && own?.deletedRetracted ?? 0 == 0 ? sum : nil
    }

    /// Returns true if `vector` contains every sending, false if it contains none, and nil if
    /// neither is certain.
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

    /// Whether all counts are equal; the ranges in `sent` may differ.
    public func countsSame(as other: MessageCounts) -> Bool {
        messages == other.messages && retracted == other.retracted && shares == other.shares
    }

    // MARK: Counting

    /// Adds a message to the counts; removes it if `sign` is -1.
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
        change(sender) {
            if message.isRetracted {
                $0.ownRetracted += sign
            } else if message.deletedBy.contains(sender) {
                $0.ownDeleted += sign
            } else {
                $0.own += sign
            }
        }
        guard sign > 0 else { return }
        widen(message.header.dot)
        // Most messages were sent once and have no losing sends.
        if !message.losingSends.isEmpty {
            for dot in message.losingSends.dots { widen(dot) }
        }
    }

    public mutating func add(_ other: MessageCounts, times sign: Int = 1) {
        messages += sign * other.messages
        retracted += sign * other.retracted
        for share in other.shares {
            change(share.user) {
                $0.own += sign * share.own
                $0.deleted += sign * share.deleted
                $0.deletedRetracted += sign * share.deletedRetracted
                $0.ownDeleted += sign * share.ownDeleted
                $0.ownRetracted += sign * share.ownRetracted
            }
        }
        if !other.areSendersCounted { areSendersCounted = false }
        guard sign > 0 else { return }
        for entry in other.sent { widen(entry) }
    }

    /// Returns the counts without the messages that `other` counts.
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

    private mutating func widen(_ dot: Dot) {
        widen(Sent(replica: dot.replica, seqs: dot.seq...dot.seq))
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
        shares.encode(into: &writer)
        sent.encode(into: &writer)
        // A row without the senders' counts ends here, as a row of an earlier version does.
        guard areSendersCounted else { return }
        for share in shares {
            writer.write(count: share.ownDeleted)
            writer.write(count: share.ownRetracted)
        }
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        messages = try reader.readNumber()
        retracted = try reader.readNumber()
        shares = try reader.readList().ascending("users", by: \.user)
        sent = try reader.readList().ascending("replicas", by: \.replica)
        areSendersCounted = shares.isEmpty ? messages == 0 : !reader.isAtEnd
        guard areSendersCounted else { return }
        for index in shares.indices {
            shares[index].ownDeleted = try reader.readNumber()
            shares[index].ownRetracted = try reader.readNumber()
        }
    }
}

extension MessageCounts.Share: WireValue {
    func encode(into writer: inout ByteWriter) {
        writer.write(user)
        writer.write(count: own)
        writer.write(count: deleted)
        writer.write(count: deletedRetracted)
    }

    init(from reader: inout ByteReader) throws(WireError) {
        user = try reader.readName()
        own = try reader.readNumber()
        deleted = try reader.readNumber()
        deletedRetracted = try reader.readNumber()
    }
}

extension MessageCounts.Sent: WireValue {
    func encode(into writer: inout ByteWriter) {
        writer.write(replica)
        writer.write(varint: seqs.lowerBound)
        writer.write(varint: seqs.upperBound)
    }

    init(from reader: inout ByteReader) throws(WireError) {
        replica = try reader.readID()
        let (first, last) = (try reader.readVarint(), try reader.readVarint())
        guard first <= last else { throw .invalid("seqs that ascend") }
        seqs = first...last
    }
}

/// A run of a conversation's history with its counts, as an index on disk stores it; it is computed
/// from the messages alone.
///
/// The runs of one level are consecutive. A run of the first level holds about 64 messages, a run
/// of each further level about 64 runs of the level below. A hash of a time decides whether a run
/// begins at that time, so the boundaries depend neither on the order in which messages arrive nor
/// on the choices of their senders. Messages outside of every run, such as the newest ones, are
/// counted one by one.
public struct CountedRun: Hashable, Sendable {
    /// The earliest time at which a message of the run can have been sent.
    public let start: HybridTimestamp
    /// The time before which all messages of the run were sent.
    public let end: HybridTimestamp
    public var counts: MessageCounts

    public init(from start: HybridTimestamp, to end: HybridTimestamp, _ counts: MessageCounts) {
        self.start = start
        self.end = end
        self.counts = counts
    }

    /// The levels of runs; with four levels of 6 bits, a run of the highest level contains about 16
    /// million messages.
    public static let levels: ClosedRange<UInt8> = 1...4

    /// The binary logarithm of the average number of runs of one level in a run of the next level.
    public static let fanOutBits = 6

    /// Returns the highest level of which a run begins at `time`; 0 if no run begins there.
    public static func level(at time: HybridTimestamp, fanOutBits: Int = fanOutBits) -> UInt8 {
        // The bits of the time are mixed by the finalizer of SplitMix64.
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
