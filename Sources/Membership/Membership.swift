import Wire

/// One node's view of which members are alive: SWIM with Lifeguard's suspicion, as a value.
///
/// A value without I/O and without a clock: events come in with the current time, and gossip and
/// member events are taken out. Sources: A. Das et al., "SWIM: Scalable Weakly-consistent
/// Infection-style Process Group Membership Protocol" (2002); A. Dadgar et al., "Lifeguard: Local
/// Health Awareness for More Accurate Failure Detection" (2017).
///
/// The protocol runs over a full mesh of persistent connections, which changes two things. A broken
/// connection says at once what a lost datagram only suggests, so there are two kinds of suspicion:
/// after a lost connection a member is considered dead within 0.6 s unless another member hears it,
/// and after silence within 6 s. And every frame on a connection, of whatever kind, is a sign of
/// life.
///
/// A connection that this node closes because nothing arrives is reported by `onGivenUp` and not by
/// `onDown`, since silence has its own time limit.
public struct Membership: Sendable {
    /// The current time in milliseconds of a monotonic clock; events with an earlier time count as
    /// now.
    var now: UInt64
    var lastTickAt: UInt64
    /// The end of the period in which no member is suspected.
    var graceUntil: UInt64
    let evictAfter: UInt64?
    /// The time since which more than half of the members are heard, as of the last tick; nil while
    /// they are not.
    var majoritySince: UInt64?
    var random: SeededNumbers

    public internal(set) var me: Member
    public internal(set) var table: MemberTable
    var hasLeft = false
    /// When this node last raised its incarnation above that of another process with its name.
    var refuteAt: UInt64?
    /// The incarnation that this node has to exceed as soon as the rate limit allows.
    var toRefute: UInt64?
    /// How often another process exceeded the incarnation by which this process exceeded another.
    var answersOfTwins = 0
    /// The number of such answers after which there is a twin.
    static let twinAnswers = 4
    var hasTwin: Bool { answersOfTwins >= Membership.twinAnswers }

    /// The state of each peer; used for look-ups only, so the order of the table decides
    /// everything.
    var peers: [NodeName: Peer] = [:]
    /// The members with a connection to this node, ascending.
    var linked: [NodeName] = []
    var health = LocalHealth()

    var round: [NodeName] = []
    var probedAt: UInt64
    var lastNumber: UInt64 = 0

    var news: [News] = []
    var outbox: [(to: NodeName, gossip: Gossip)] = []
    var events: [MemberEvent] = []

    /// The greatest number of names that are kept without an entry in the table, for their
    /// connections.
    static let strangersMax = MemberTable.entriesMax

    /// - Parameters:
    ///   - me: this process; its incarnation is raised above that of earlier processes in `table`.
    ///   - table: the table of an earlier process, or an empty one.
    ///   - evictAfterMilliseconds: how long a dead member stays in the ring; nil for ever. Only a
    ///     node that hears a majority of the members evicts.
    ///   - seed: the seed that decides which members are probed and asked.
    ///   - now: the current time in milliseconds of a monotonic clock.
    public init(
        me: Member, table: MemberTable, evictAfterMilliseconds: UInt64?, seed: UInt64, now: UInt64
    ) {
        self.now = now
        lastTickAt = now
        graceUntil = now + Timing.grace
        evictAfter = evictAfterMilliseconds
        random = SeededNumbers(seed: seed)
        self.me = me
        self.table = table
        probedAt = now
        if let old = table[me.name], old.member.incarnation >= me.incarnation {
            self.me.incarnation = min(old.member.incarnation + 1, Member.incarnationMax)
        }
        _ = self.table.merge(MemberEntry(member: self.me, state: .alive))
        for entry in table.entries where entry.member.name != me.name {
            peers[entry.member.name] = Peer(now: now)
            if entry.state == .dead { peers[entry.member.name]?.deadSince = now }
        }
    }

    // MARK: Views

    /// The members that own shards, ascending: alive, suspect and dead ones that are not leaving.
    public var ring: [NodeName] {
        table.entries.filter { $0.state.isInRing && !$0.member.isLeaving }.map(\.member.name)
    }

    /// The members that are leaving and may still hold what they have not handed over, ascending.
    public var leaving: [NodeName] {
        table.entries.filter { $0.state.isInRing && $0.member.isLeaving }.map(\.member.name)
    }

    /// The members that are out of the ring and not forgotten, ascending; each may hold changes
    /// that no other member has.
    public var evicted: [NodeName] {
        table.entries.filter { $0.state == .evicted }.map(\.member.name)
    }

    /// The members to keep a connection to: all others that have not left.
    ///
    /// Evicted members are dialled for ever, so that a partition that lasts longer than the time to
    /// eviction heals.
    public var dialable: [Member] {
        table.entries.filter { entry in
            #if PlantedBugs
                if PlantedBug.evictedNotDialled.isOn, entry.state == .evicted { return false }
            #endif
            return entry.state != .left && entry.member.name != me.name
        }.map(\.member)
    }

    public func state(of name: NodeName) -> MemberState? { table[name]?.state }

    /// Returns the round-trip time of the last ping; nil before its answer.
    public func rttMilliseconds(of name: NodeName) -> UInt64? { peers[name]?.rttMilliseconds }

    // MARK: Connections

    /// Records a new connection whose other end has said who it is.
    public mutating func onUp(_ name: NodeName, process: RandomID, now: UInt64) {
        wake(now)
        guard name != me.name, admit(name) else { return }
        if peers[name]?.link == nil {
            let index = linked.firstIndex { $0 > name } ?? linked.endIndex
            linked.insert(name, at: index)
        }
        peers[name]?.link = process
        sign(name)
        // The ping's table hash shows at once whether one of the two has missed an update.
        ping(name)
    }

    /// Records a connection that was reset or closed by the other side, which raises suspicion at
    /// once.
    public mutating func onDown(_ name: NodeName, now: UInt64) {
        wake(now)
        unlink(name)
        if table[name] == nil { peers[name] = nil } else { lose(name) }
    }

    /// Records a connection that this node closes because nothing arrives.
    ///
    /// Silence has its own time limit, so this says nothing about the member; but no gossip is sent
    /// to it any more.
    public mutating func onGivenUp(_ name: NodeName, now: UInt64) {
        wake(now)
        unlink(name)
        if table[name] == nil { peers[name] = nil }
    }

    /// Records a refused dial: suspicion at once, unless another member has just heard the member.
    ///
    /// Not called for a name that has a connection to another address, since that connection
    /// counts.
    public mutating func onRefused(_ name: NodeName, now: UInt64) {
        wake(now)
        guard let peer = peers[name], table[name] != nil else { return }
        let wasLinked = peer.link != nil
        unlink(name)
        if !wasLinked, let at = peer.indirectAckAt, elapsed(since: at) <= Timing.indirectAckHolds {
            askOthers(about: name)
        } else {
            lose(name)
        }
    }

    /// Records that a frame of any kind arrived on the connection.
    public mutating func onHeard(_ name: NodeName, now: UInt64) {
        wake(now)
        sign(name)
    }

    private mutating func unlink(_ name: NodeName) {
        peers[name]?.link = nil
        peers[name]?.ping = nil
        linked.removeAll { $0 == name }
    }

    /// Whether the state of this name is, or can be, kept.
    mutating func admit(_ name: NodeName) -> Bool {
        if peers[name] != nil { return true }
        guard peers.count < MemberTable.entriesMax + Membership.strangersMax else { return false }
        peers[name] = Peer(now: now)
        return true
    }

    // MARK: The operator

    /// Announces that this member is leaving: it is out of the ring, and alive until it has handed
    /// over its shards.
    public mutating func beginLeave(now: UInt64) {
        wake(now)
        guard !hasLeft, !me.isLeaving else { return }
        me.isLeaving = true
        raise(above: me.incarnation)
    }

    /// Whether every member of the ring leaves, and this one has to stay since nobody could take
    /// over: of those that may still run it is the first by name.
    ///
    /// Two members may begin to leave before either hears of the other. Where their tables differ,
    /// more than one stays.
    public var hasToStay: Bool {
        guard me.isLeaving, !hasLeft, ring.isEmpty else { return false }
        let first = table.entries.first { $0.member.isLeaving && $0.state <= .suspect }
        return first?.member.name == me.name
    }

    /// Announces that this member stays in the ring after all.
    public mutating func stay(now: UInt64) {
        wake(now)
        guard !hasLeft, me.isLeaving else { return }
        me.isLeaving = false
        raise(above: me.incarnation)
    }

    /// Marks this member as `left`, which only a later start undoes.
    public mutating func leave(now: UInt64) {
        wake(now)
        guard !hasLeft else { return }
        hasLeft = true
        merge(MemberEntry(member: me, state: .left), from: nil)
    }

    /// Removes a member that is gone for good from the ring.
    ///
    /// - Returns: false where the member is neither dead nor evicted.
    public mutating func forgetMember(_ name: NodeName, now: UInt64) -> Bool {
        wake(now)
        guard let entry = table[name], entry.state == .dead || entry.state == .evicted else {
            return false
        }
        merge(MemberEntry(member: entry.member, state: .left), from: nil)
        return true
    }

    // MARK: Output

    /// Removes and returns the gossip to send; what cannot be sent may be dropped, since the hashes
    /// of later pings repair the loss.
    public mutating func takeOutbox() -> [(to: NodeName, gossip: Gossip)] {
        spreadToAll()
        defer { outbox = [] }
        return outbox
    }

    /// Removes and returns the events since the last call, in order.
    public mutating func takeEvents() -> [MemberEvent] {
        defer { events = [] }
        return events
    }
}

/// The events that a node has to handle.
public enum MemberEvent: Hashable, Sendable {
    /// A member's state has changed; `from` is nil for a member that was unknown.
    case changed(NodeName, from: MemberState?, to: MemberState)
    /// Another process runs under the name, however fast the restart was.
    case restarted(NodeName)
    /// Another living process uses this node's name and describes itself so.
    case twin(Member)
    /// This node has raised its incarnation, because it was not considered alive.
    case refuted(incarnation: UInt64)
}
