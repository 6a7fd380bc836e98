import CRDT
import Chat
import Placement
import Replication
import Wire

/// What a node is told when it is started.
package struct NodeOptions: Hashable, Sendable {
    package let name: NodeName
    /// Where it listens, with the real ports.
    package let gossip: String
    package let admin: String
    /// Members to ask for their table.
    package let join: [String]
    /// Nil where nothing was said: the cluster's holds.
    package let cluster: ClusterName?
    package let shards: UInt16?
    package let replicas: Replicas?
    package let ackLevel: AckLevel
    package let editWindowMilliseconds: UInt64
    /// How long a dead member keeps its shards; nil for ever.
    package let evictAfterMilliseconds: UInt64?
    /// Whether connections may be cut by request.
    package let mayBlock: Bool

    /// How long a dead member keeps its shards where nothing else was said, in milliseconds.
    package static let evictAfterMillisecondsDefault: UInt64 = 10 * 60 * 1_000

    package init(
        name: NodeName, gossip: String, admin: String, join: [String], cluster: ClusterName?,
        shards: UInt16?, replicas: Replicas? = nil, ackLevel: AckLevel,
        editWindowMilliseconds: UInt64,
        evictAfterMilliseconds: UInt64? = evictAfterMillisecondsDefault, mayBlock: Bool = false
    ) {
        self.name = name
        self.gossip = gossip
        self.admin = admin
        self.join = join
        self.cluster = cluster
        self.shards = shards
        self.replicas = replicas
        self.evictAfterMilliseconds = evictAfterMilliseconds
        self.mayBlock = mayBlock
        self.ackLevel = ackLevel
        self.editWindowMilliseconds = editWindowMilliseconds
    }
}

/// The hub of a node: its shards, the links to the other members, and the turn in which what
/// changed goes to the disk and to them.
///
/// It lives on the node's event loop with its shards and sessions; everything between a line and
/// its reply is synchronous there.
package actor Node {
    /// The version of the program.
    package static let version = "0.1.0"
    /// How many shards a cluster has where nothing else was said.
    package static let shardsDefault: UInt16 = 64
    /// How often `onTick` is due, in milliseconds.
    package static let tickMilliseconds: UInt64 = 100
    /// After how long without anybody a start goes on alone, in milliseconds.
    static let solitudeMilliseconds: UInt64 = 1_000
    /// How many bytes may wait for the disk before clients and peers have to wait.
    static let storeBytesMax = 64 << 20

    package nonisolated let options: NodeOptions
    nonisolated let ports: NodePorts
    let process: RandomID
    let startedAt: UInt64

    var cluster: ClusterSettings?
    var me: Member
    var members = MemberTable()
    package internal(set) var shards: [Shard] = []
    /// What came in on each connection and is not a whole frame yet.
    var cutters: [UInt64: EnvelopeCutter] = [:]
    var greetings: [UInt64: Greeting] = [:]
    var links: [NodeName: PeerLink] = [:]
    /// Which link a channel belongs to.
    var linked: [UInt64: NodeName] = [:]
    var dialer = Dialer()
    /// Addresses given by `--join` that have not answered yet.
    var unanswered: Set<String>
    /// Addresses that turned out to be of another cluster, once that was logged.
    var strangers: Set<String> = []
    /// Connections that sent what no node sends, since that was last logged.
    var strangersSeen = 0
    var strangersLoggableFrom: UInt64 = 0
    var settingsToKeep: [Setting] = []
    /// Shards with bad records, on the way to being counted anew without them.
    var repairs: [ShardID: Repair] = [:]
    /// When a member was last connected or said that this node's name is taken, or the start.
    var reachedAt: UInt64

    private var sinks: [UInt64: any ReplySink] = [:]
    private var waits: [CopiesWait] = []
    /// Replies that wait for several shards, each with how many have not settled it.
    private var gatherings: [ReplySlot: Int] = [:]
    private var isEnding = false
    private var nextTicket: UInt64 = 1
    /// The commits handed out and not done, in order.
    private var underway: [Commit] = []
    /// What a failed commit did not keep; handed out again with the next, or with the next tick.
    private var unkept: [Setting] = []
    private var isCommitting = true
    /// The shard of which a batch was last read for a pull.
    private var lastServed = ShardID(0)
    private var isReady = false
    private var tickedAt: UInt64
    /// The disk is behind: nothing is read from clients and peers.
    var isCongested = false

    package init(_ options: NodeOptions, ports: NodePorts) {
        self.options = options
        self.ports = ports
        process = ports.entropy.nextID()
        startedAt = ports.clock.milliseconds
        reachedAt = startedAt
        tickedAt = startedAt
        unanswered = Set(options.join)
        me = Member(
            name: options.name, gossip: options.gossip, admin: options.admin, incarnation: 0)
    }

    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        ports.executor.asUnownedSerialExecutor()
    }
}

// MARK: Start

extension Node {
    private enum SettingName {
        static let cluster = "cluster"
        static let members = "members"
    }

    /// Starts from what is on disk: goes on as a member, founds a cluster, or waits to be told of
    /// one.
    package func start(settings: [String: [UInt8]], headers: [ShardID: [UInt8]]) {
        do throws(WireError) {
            if let bytes = settings[SettingName.members] {
                members = try MemberTable.decode(bytes)
            }
            let before = members[me.name]?.incarnation ?? 0
            me = Member(
                name: me.name, gossip: me.gossip, admin: me.admin,
                incarnation: max(before + 1, ports.clock.wallMilliseconds))
            if let bytes = settings[SettingName.cluster] {
                try resume(ClusterSettings.decode(bytes), headers)
            } else if options.join.isEmpty {
                found()
            }
        } catch {
            ports.host.end(
                .unusable("the data folder holds what this version cannot read: \(error)"))
        }
        onTick()
    }

    private func resume(
        _ settings: ClusterSettings, _ headers: [ShardID: [UInt8]]
    ) throws(WireError) {
        guard accepts(settings) else { return }
        cluster = settings
        var stored: [ShardID: CopyHeader] = [:]
        for (shard, bytes) in headers { stored[shard] = try CopyHeader.decode(bytes) }
        openShards(settings, stored: stored, isFounded: false)
        keepMembers()
    }

    private func found() {
        let settings = ClusterSettings(
            id: ports.entropy.nextID(), name: options.cluster ?? ClusterName(checked: "grapevine"),
            shards: options.shards ?? Node.shardsDefault)
        ports.host.log(.info, "cluster founded cluster=\(settings.name) shards=\(settings.shards)")
        cluster = settings
        keep(settings)
        openShards(settings, stored: [:], isFounded: true)
        keepMembers()
    }

    /// Takes part in the cluster that a member told of.
    func adopt(_ settings: ClusterSettings) {
        guard accepts(settings) else { return }
        ports.host.log(.info, "cluster joined cluster=\(settings.name) shards=\(settings.shards)")
        cluster = settings
        keep(settings)
        openShards(settings, stored: [:], isFounded: false)
        keepMembers()
    }

    /// Whether the options agree with what the cluster's first node fixed.
    private func accepts(_ settings: ClusterSettings) -> Bool {
        if let name = options.cluster, name != settings.name {
            ports.host.end(
                .badOption("--cluster \(name): this cluster's name is \(settings.name)"))
            return false
        }
        if let shards = options.shards, shards != settings.shards {
            ports.host.end(
                .badOption("--shards \(shards): this cluster has \(settings.shards) shards"))
            return false
        }
        return true
    }

    private func openShards(
        _ settings: ClusterSettings, stored: [ShardID: CopyHeader], isFounded: Bool
    ) {
        _ = members.learn(me)
        shards = (0..<settings.shards).map { number in
            let id = ShardID(number)
            return Shard(
                id, of: settings.shards, stored: stored[id] ?? CopyHeader(isComplete: false),
                holders: holders(of: id), isFounded: isFounded, ports: ports,
                editWindowMilliseconds: options.editWindowMilliseconds)
        }
    }

    private func keep(_ settings: ClusterSettings) {
        settingsToKeep.append(Setting(name: SettingName.cluster, value: settings.encoded))
    }

    func keepMembers() {
        _ = members.learn(me)
        settingsToKeep.append(Setting(name: SettingName.members, value: members.encoded))
        placeShards()
    }

    /// Tells each shard who owns it.
    func placeShards() {
        for shard in shards {
            let holders = holders(of: shard.id)
            shard.assumeIsolated { $0.setHolders(holders) }
        }
    }

    private func holders(of shard: ShardID) -> Holders {
        let names = members.members.map(\.name)
        let owners = Placement.owners(of: shard, among: names, replicas: .all)
        return Holders(
            me: me.name, owners: owners,
            livingOwners: owners.count { $0 == me.name || links[$0] != nil },
            others: names.filter { $0 != me.name })
    }
}

// MARK: Requests

extension Node {
    /// The shard of a conversation; nil before the node is in a cluster.
    package func shard(of conversation: ConversationID) -> Shard? {
        guard let cluster else { return nil }
        return shards[Int(ShardID(of: conversation.text, count: cluster.shards).number)]
    }

    package func shard(_ id: ShardID) -> Shard? {
        Int(id.number) < shards.count ? shards[Int(id.number)] : nil
    }

    /// An id for a message whose sender named none.
    package func mintMessageID() -> MessageID {
        MessageID.minted(
            at: HybridTimestamp(milliseconds: ports.clock.wallMilliseconds),
            entropy: ports.entropy.next())
    }

    package func mintOperationID() -> OperationID { ports.entropy.nextID() }

    /// Ends the process in good order.
    package func shutDown() { ports.host.end(.shutdown) }

    /// Has what was asked outside of a read of the network go on without waiting for one.
    package func turnAgain() { ports.host.turnAgain() }

    package func attach(_ sink: any ReplySink, as session: UInt64) { sinks[session] = sink }

    package func detach(_ session: UInt64) {
        sinks[session] = nil
        waits.removeAll { $0.slot.session == session }
    }

    /// Has a reply wait until these writes are stored on so many owners.
    package func wait(
        _ slot: ReplySlot, for writes: [ShardID: Vector], copies: Int, until deadline: UInt64
    ) {
        waits.append(
            CopiesWait(slot: slot, writes: writes, copies: copies, deadline: deadline))
        ports.host.turnAgain()
    }

    /// The process ends: nobody waits for copies any longer.
    package func stopWaiting() { isEnding = true }

    /// On how many owners all of these are stored.
    private func copies(of writes: [ShardID: Vector]) -> Int {
        writes.map { id, vector in
            shard(id)?.assumeIsolated { $0.copies(of: vector) } ?? 0
        }.min() ?? members.members.count
    }

    private func settleWaits() {
        guard !waits.isEmpty else { return }
        let now = isEnding ? .max : ports.clock.milliseconds
        let judged = waits.map { wait in (wait, copies: copies(of: wait.writes)) }
        waits = []
        // Whoever is told may wait again at once, so the list is whole before anybody is.
        for (wait, copies) in judged where !wait.isOver(with: copies, now: now) {
            waits.append(wait)
        }
        for (wait, copies) in judged where wait.isOver(with: copies, now: now) {
            sinks[wait.slot.session]?.onSettled(
                wait.slot.number, .copies(copies, isEnough: copies >= wait.copies))
        }
    }
}

/// What was handed to the disk as one transaction.
private struct Commit {
    let ticket: UInt64
    let shards: [ShardID]
    let settings: [Setting]
}

/// A reply that waits for copies.
private struct CopiesWait {
    let slot: ReplySlot
    let writes: [ShardID: Vector]
    let copies: Int
    let deadline: UInt64

    func isOver(with copies: Int, now: UInt64) -> Bool { copies >= self.copies || now >= deadline }
}

// MARK: Turns

extension Node {
    /// The end of a turn of the event loop: what changed in it goes to the disk as one commit and
    /// to the co-owners as one write each.
    package func onTurnEnd() {
        var writes: [ShardWrite] = []
        var served: [(shard: Shard, peers: [NodeName])] = []
        for shard in shards {
            let end = shard.assumeIsolated { [nextTicket] in $0.endTurn(nextTicket) }
            if let write = end.write { writes.append(write) }
            send(end.frames, of: shard)
            settle(end.settled)
            if !end.served.isEmpty { served.append((shard, end.served)) }
            for peer in end.divergences { noteDivergence(of: shard.id, from: peer) }
            if !end.bad.isEmpty { onBadRecords(end.bad, in: shard.id) }
        }
        commit(writes + setAsideBadRecords())
        serve(served)
        offerDropped()
        for name in links.keys.sorted() { links[name]?.flush() }
        settleWaits()
        noteCongestion()
    }

    private func commit(_ writes: [ShardWrite]) {
        guard !writes.isEmpty || !settingsToKeep.isEmpty else { return }
        let settings = unkept + settingsToKeep
        unkept = []
        settingsToKeep = []
        ports.store.commit(writes, settings: settings, ticket: nextTicket)
        underway.append(
            Commit(ticket: nextTicket, shards: writes.map(\.shard), settings: settings))
        nextTicket += 1
    }

    /// The most batches read from the disk in one turn, so that a pull does not hold up clients.
    private static let batchesPerTurn = 4

    /// Reads a batch for each of some pulls.
    ///
    /// The shards take turns, so that none of many pulls is given up for its silence.
    private func serve(_ served: [(shard: Shard, peers: [NodeName])]) {
        var left = Node.batchesPerTurn
        let first = served.firstIndex { $0.shard.id > lastServed } ?? 0
        for (shard, peers) in served[first...] + served[..<first] {
            for peer in peers where links[peer]?.isShort ?? false {
                guard left > 0 else {
                    ports.host.turnAgain()
                    return
                }
                left -= 1
                lastServed = shard.id
                let frames = shard.assumeIsolated { $0.serveBatch(to: peer) }
                send(frames, of: shard)
                ports.host.turnAgain()
            }
        }
    }

    private func send(_ frames: [(to: NodeName, frame: Frame)], of shard: Shard) {
        for (peer, frame) in frames where links[peer]?.send(frame) == false {
            shard.assumeIsolated { $0.onDropped(frame, to: peer) }
        }
    }

    private func offerDropped() {
        for name in links.keys.sorted() {
            if links[name]?.takesDroppedTable() ?? false { links[name]?.send(.members(members)) }
            for id in links[name]?.takeDropped() ?? [] {
                shard(id)?.assumeIsolated { $0.offer(to: name) }
                ports.host.turnAgain()
            }
        }
    }

    private func noteCongestion() {
        let queued = ports.store.queuedBytes
        if !isCongested, queued > Node.storeBytesMax {
            isCongested = true
        } else if isCongested, queued < Node.storeBytesMax / 2 {
            isCongested = false
        } else {
            return
        }
        let now = ports.clock.milliseconds
        for name in links.keys.sorted() {
            links[name]?.channel.setPaused(isCongested)
            links[name]?.link.onHeard(now: now)
        }
        ports.host.setClientsPaused(isCongested)
    }

    private func noteDivergence(of shard: ShardID, from peer: NodeName) {
        ports.host.log(
            .error,
            "defect: equal vectors, different digests shard=\(shard) peer=\(peer); comparing all")
    }

    private func settle(_ settled: [(ReplySlot, Stored)]) {
        for (slot, stored) in settled where !isAwaited(slot) {
            sinks[slot.session]?.onSettled(slot.number, .stored(stored))
        }
    }

    /// A reply that shows several shards waits for each of them.
    func awaitShards(_ count: Int, for slot: ReplySlot) {
        if count > 1 { gatherings[slot] = count }
    }

    /// Whether a slot that one shard has settled waits for others.
    private func isAwaited(_ slot: ReplySlot) -> Bool {
        guard let left = gatherings[slot] else { return false }
        gatherings[slot] = left > 2 ? left - 1 : nil
        return true
    }

    /// A commit is on disk, or is not going to be.
    package func onCommitted(_ ticket: UInt64, failure: StoreFailure?) {
        // One that was built on a failed commit fails with it, and again when the store says so:
        // by then others may be under way that are none of its concern.
        guard let oldest = underway.first, oldest.ticket <= ticket else { return }
        if let failure {
            onCommitFailed(failure)
            return
        }
        if !isCommitting {
            isCommitting = true
            ports.host.log(.info, "commits work again")
        }
        while let first = underway.first, first.ticket <= ticket {
            underway.removeFirst()
            for id in first.shards {
                guard let shard = shard(id) else { continue }
                settle(shard.assumeIsolated { $0.onCommitted(ticket) })
                finishRepair(of: shard)
            }
        }
        noteReady()
    }

    private func onCommitFailed(_ failure: StoreFailure) {
        if isCommitting {
            isCommitting = false
            ports.host.log(.error, "commit failed: \(failure); writes are refused until one works")
        }
        if case .failed(let reason) = failure { ports.host.end(.diskFailed(reason)) }
        let failed = Set(underway.flatMap(\.shards)).sorted()
        keepLater(underway.flatMap(\.settings))
        underway = []
        restartRepairs()
        ports.store.resume()
        let slots = failed.flatMap { shard($0)?.assumeIsolated { $0.onCommitFailed() } ?? [] }
        // Whoever is told may write again at once, so every shard is as on disk before anybody is.
        fail(slots, because: failure)
    }

    private func keepLater(_ settings: [Setting]) {
        unkept += settings
        guard settings.contains(where: { $0.name == SettingName.cluster }) else { return }
        // Shards without the cluster that they belong to would be lost with this process.
        ports.host.end(.diskFailed("no room to store which cluster this node is in"))
    }

    func fail(_ slots: [ReplySlot], because failure: StoreFailure) {
        for slot in slots {
            gatherings[slot] = nil
            sinks[slot.session]?.onSettled(slot.number, .failed(failure))
        }
    }

    /// Whether nothing waits for the disk.
    package var isSettled: Bool { underway.isEmpty }

    /// Every 100 ms.
    package func onTick() {
        let now = ports.clock.milliseconds
        settingsToKeep = unkept + settingsToKeep
        unkept = []
        let isLate = now > tickedAt + 2 * Node.tickMilliseconds
        tickedAt = now
        tickLinks(now: now, isDeaf: isLate || isCongested)
        dial(now: now)
        refute()
        if !links.isEmpty || cluster == nil { reachedAt = now }
        let isAlone =
            repairs.isEmpty
            && (now >= reachedAt + Node.solitudeMilliseconds || members.members.count <= 1)
        for shard in shards {
            settle(
                shard.assumeIsolated { shard in
                    if isAlone { shard.onNobodyReached() }
                    return shard.onTick()
                })
        }
        noteReady()
    }

    /// Outbids what others remember of an older life of this node, under a clock that was ahead.
    ///
    /// With the ticks, so that two of one name do not outbid each other faster.
    private func refute() {
        guard let known = members[me.name], known != me else { return }
        me = Member(
            name: me.name, gossip: me.gossip, admin: me.admin, incarnation: known.incarnation + 1)
        onMembersChanged()
    }

    private func noteReady() {
        guard !isReady, !shards.isEmpty, underway.isEmpty, settingsToKeep.isEmpty else { return }
        guard shards.allSatisfy({ $0.assumeIsolated { $0.isServing } }) else { return }
        isReady = true
        ports.host.onReady()
    }
}
