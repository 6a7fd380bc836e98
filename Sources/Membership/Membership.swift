import Wire

/// Who is alive, as one node sees it: SWIM with Lifeguard's suspicion, as a value.
///
/// It does no input or output and has no clock: events come in with the time, gossip and what
/// happened go out. Sources: A. Das et al., "SWIM: Scalable Weakly-consistent Infection-style
/// Process Group Membership Protocol" (2002); A. Dadgar et al., "Lifeguard: Local Health Awareness
/// for More Accurate Failure Detection" (2017).
///
/// It runs over a full mesh of persistent links, which changes two things. A link that breaks says
/// at once what a lost datagram only hints at, so there are two suspicions: a lost link becomes a
/// death within 0.6 s unless somebody hears the member, silence within 6 s. And every frame on a
/// link, of whatever kind, is a sign of life.
///
/// A link that the node itself gives up because nothing comes is not `onDown` but `onGivenUp`:
/// silence has its own time.
public struct Membership: Sendable {
    /// Times are milliseconds of a clock that only goes forward; a time before this counts as this.
    var now: UInt64
    var lastTickAt: UInt64
    /// Until when nobody is suspected.
    var graceUntil: UInt64
    let evictAfter: UInt64?
    /// Since when more than half of the members are heard, as of the last tick; nil while they are
    /// not.
    var majoritySince: UInt64?
    var random: SeededNumbers

    public internal(set) var me: Member
    public internal(set) var table: MemberTable
    var hasLeft = false
    /// When this node last raised its incarnation to outbid another process.
    var refuteAt: UInt64?
    /// The incarnation that it must outbid once it may.
    var toRefute: UInt64?
    var twin: RandomID?

    /// A look-up alone: what is decided goes by the order of the table.
    var peers: [NodeName: Peer] = [:]
    /// Ascending: to whom there is a link.
    var linked: [NodeName] = []
    var health = LocalHealth()

    var round: [NodeName] = []
    var probedAt: UInt64
    var lastNumber: UInt64 = 0

    var news: [News] = []
    var outbox: [(to: NodeName, gossip: Gossip)] = []
    var events: [MemberEvent] = []

    /// The most names that are kept without an entry in the table: those of links alone.
    static let strangersMax = MemberTable.entriesMax

    /// - Parameters:
    ///   - me: this process; its incarnation is raised above what `table` says of an older life.
    ///   - table: as kept from an older life, or empty.
    ///   - evictAfterMilliseconds: how long a dead member stays in the ring; nil for ever. Only a
    ///     node that hears a majority of the members evicts.
    ///   - seed: decides whom it asks.
    ///   - now: milliseconds of a clock that only goes forward.
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

    /// Who owns shards, ascending: alive, suspect and dead members that are not about to leave.
    public var ring: [NodeName] {
        table.entries.filter { $0.state.isInRing && !$0.member.isLeaving }.map(\.member.name)
    }

    /// Who is about to leave and may still hold what it has not handed over, ascending.
    public var leaving: [NodeName] {
        table.entries.filter { $0.state.isInRing && $0.member.isLeaving }.map(\.member.name)
    }

    /// Who is out of the ring and was not forgotten, ascending: each may hold what no other does.
    public var evicted: [NodeName] {
        table.entries.filter { $0.state == .evicted }.map(\.member.name)
    }

    /// Whom to keep a link to: all others that have not left.
    ///
    /// Evicted ones are dialled for ever, so that a cut longer than the time to eviction heals.
    public var dialable: [Member] {
        table.entries.filter { entry in
            #if PlantedBugs
                if PlantedBug.evictedNotDialled.isOn, entry.state == .evicted { return false }
            #endif
            return entry.state != .left && entry.member.name != me.name
        }.map(\.member)
    }

    public func state(of name: NodeName) -> MemberState? { table[name]?.state }

    /// How long the last ping and its answer took.
    public func rttMilliseconds(of name: NodeName) -> UInt64? { peers[name]?.rttMilliseconds }

    // MARK: Links

    /// A link is up, and the other end has said who it is.
    public mutating func onUp(_ name: NodeName, process: RandomID, now: UInt64) {
        wake(now)
        guard name != me.name, admit(name) else { return }
        if peers[name]?.link == nil {
            let index = linked.firstIndex { $0 > name } ?? linked.endIndex
            linked.insert(name, at: index)
        }
        peers[name]?.link = process
        sign(name)
        // Its hash shows at once whether one of the two has missed anything.
        ping(name)
    }

    /// A link was reset or closed by the other side: suspicion at once.
    public mutating func onDown(_ name: NodeName, now: UInt64) {
        wake(now)
        unlink(name)
        if table[name] == nil { peers[name] = nil } else { lose(name) }
    }

    /// This node gives a link up because nothing comes over it.
    ///
    /// Silence has its own time, so that says nothing about the member; but nothing is sent there
    /// any more, no news and no question.
    public mutating func onGivenUp(_ name: NodeName, now: UInt64) {
        wake(now)
        unlink(name)
        if table[name] == nil { peers[name] = nil }
    }

    /// A dial was refused: suspicion at once, unless others have just heard the member.
    ///
    /// Not for a name that has a link to another address: that link is the one that counts.
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

    /// Something came over the link, whatever it was.
    public mutating func onHeard(_ name: NodeName, now: UInt64) {
        wake(now)
        sign(name)
    }

    private mutating func unlink(_ name: NodeName) {
        peers[name]?.link = nil
        peers[name]?.ping = nil
        linked.removeAll { $0 == name }
    }

    /// Whether there is, or can be, a place for what is seen of this name.
    mutating func admit(_ name: NodeName) -> Bool {
        if peers[name] != nil { return true }
        guard peers.count < MemberTable.entriesMax + Membership.strangersMax else { return false }
        peers[name] = Peer(now: now)
        return true
    }

    // MARK: The operator

    /// This member is about to go: out of the ring, alive until it has handed over what it holds.
    public mutating func beginLeave(now: UInt64) {
        wake(now)
        guard !hasLeft, !me.isLeaving else { return }
        me.isLeaving = true
        raise(above: me.incarnation)
    }

    /// This member goes: its entry becomes `left`, and only a later start undoes it.
    public mutating func leave(now: UInt64) {
        wake(now)
        guard !hasLeft else { return }
        hasLeft = true
        merge(MemberEntry(member: me, state: .left), from: nil)
    }

    /// Takes a member that is gone for good out of the ring.
    ///
    /// - Returns: false where it is not dead or evicted.
    public mutating func forget(_ name: NodeName, now: UInt64) -> Bool {
        wake(now)
        guard let entry = table[name], entry.state == .dead || entry.state == .evicted else {
            return false
        }
        merge(MemberEntry(member: entry.member, state: .left), from: nil)
        return true
    }

    // MARK: What comes out

    /// What is to be sent; what cannot be may be dropped, the hashes of later pings repair it.
    public mutating func takeOutbox() -> [(to: NodeName, gossip: Gossip)] {
        spreadToAll()
        defer { outbox = [] }
        return outbox
    }

    /// What has happened since the last call, in order.
    public mutating func takeEvents() -> [MemberEvent] {
        defer { events = [] }
        return events
    }
}

/// What a node does about its members.
public enum MemberEvent: Hashable, Sendable {
    /// `from` is nil for a member that was unknown.
    case changed(NodeName, from: MemberState?, to: MemberState)
    /// Another process runs under the name, however fast that went.
    case restarted(NodeName)
    /// Another living process has this node's own name: this is what it says of itself.
    case twin(Member)
    /// This node raised its incarnation, since somebody did not hold it to be alive.
    case refuted(incarnation: UInt64)
}
