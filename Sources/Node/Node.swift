import CRDT
import Chat
import Membership
import Placement
import Replication
import Wire

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
    ///
    /// An orderly end stores them all, so it is what a slow disk writes in a second or two.
    static let storeBytesMax = 16 << 20

    package nonisolated let options: NodeOptions
    nonisolated let ports: NodePorts
    /// Whether somebody follows what the node does, line by line.
    package nonisolated let isDebugging: Bool
    let process: RandomID
    let startedAt: UInt64

    var cluster: ClusterSettings?
    var membership: Membership
    /// The hash of the table of members that was last acted on.
    var followedTable: UInt64 = 0
    /// The members that owned shards when `owners` was made.
    var placedRing: [NodeName] = []
    /// The owners of each shard, by its number.
    var owners: [[NodeName]] = []
    /// By number; nil where the shard is not held here.
    var held: [Shard?] = []
    /// Those that are held here, ascending.
    package internal(set) var shards: [Shard] = []
    var dirty = DirtyShards()
    var rewriting = Rewriting()
    /// From whom nothing is read, and to whom nothing is sent, as behind a cut cable.
    var cutIn: Set<NodeName> = []
    var cutOut: Set<NodeName> = []
    /// Whether the process ends once nothing is held here.
    var isLeaving = false
    /// By channel.
    var greetings: [UInt64: Greeting] = [:]
    var links = PeerConnections()
    var dialer = Dialer()
    /// Addresses given by `--join` that have not answered yet.
    var unanswered: Set<String>
    /// Those of which that was said.
    var silentJoins: Set<String> = []
    /// What those said, as long as they may have to found a cluster together.
    var bootstrap: Bootstrap?
    /// When it was last said that this node waits for a cluster, or the start.
    var waitingSaidAt: UInt64
    /// Addresses that turned out to be of another cluster, once that was logged.
    var strangers: Set<String> = []
    /// Connections that sent what no node sends, since that was last logged.
    var strangersSeen = 0
    var strangersLoggableFrom: UInt64 = 0
    var settingsToKeep: [Setting] = []
    /// Shards with bad records, on the way to being counted anew without them.
    var repairs: [ShardID: Repair] = [:]
    /// Whether the disk takes everything.
    var pressure = DiskPressure()
    /// When its room was last looked at.
    var lookedAt: UInt64 = 0
    var scrub: Scrub
    var checks = ShardChecks()
    /// What acknowledged writes the disk has lost, until they have been fetched; nil for none.
    package internal(set) var loss: String?
    var backup: RunningBackup?
    /// When a member was last connected or said that this node's name is taken, or the start.
    var reachedAt: UInt64
    /// When somebody first said that a living member has this node's name, since it was last
    /// connected; and when it was first said again, long after.
    var nameTakenAt: (first: UInt64, again: UInt64?)?

    /// The operations of this process, of all shards in the order of its lines.
    var operations: Operations
    var clusterTime: ClusterTime
    var safety = Safety()
    /// Whether all that this node owns was here once since its start.
    var hasFetched = false
    /// Requests for notifications, and the number of the next.
    var notifyings: [UInt64: NotificationRequest] = [:]
    var nextNotifying: UInt64 = 1
    var profiles = ProfileDesk()
    /// Replies to those, until the end of the turn.
    var notified: [(slot: ReplySlot, outcome: Completion)] = []

    var sinks: [UInt64: any ReplySink] = [:]
    /// Whom to ask for which shard.
    var routes = Routes()
    /// The number of the next `PeerRequest`.
    var nextCall: UInt64 = 1
    /// Requests that others answer.
    var forwards = Forwards()
    /// What was answered here, for others or late, and waits for disks.
    var pendingResponses: [ReplySlot: PendingResponse] = [:]
    /// What members were denied lately.
    var redirects: [RequestedShard: Redirect] = [:]
    /// Lists that wait for earlier requests of their session, by session and in order.
    var deferredQueries: [UInt64: [DeferredQuery]] = [:]
    /// Lists that wait for several shards.
    var scatterGathers: [ReplySlot: ScatterGather] = [:]
    /// Sample data on its way to several shards.
    var seedings: [ReplySlot: Seeding] = [:]
    /// What others were asked for of those, by number.
    var shardCalls: [UInt64: ShardCall] = [:]
    var waits: [CopiesWait] = []
    /// What others were asked for of those, by number.
    var copyCalls: [UInt64: CopiesCall] = [:]
    /// Connections that wait for a copy that holds what they have seen.
    var covers: [SessionShard: ReadBarrier] = [:]
    /// What others were asked for of those, by number.
    var barrierCalls: [UInt64: SessionShard] = [:]
    /// Copies here that are being brought up to what connections have seen, in order.
    var catchUps: [CatchUp] = []
    /// Each `SINCE` that is underway.
    var sinces: [ReplySlot: Since] = [:]
    /// What is told to those who watch, of what is held here.
    var publisher = EventPublisher()
    /// What this node's watchers are told.
    var subscriptions = Subscriptions()
    /// What this node told itself about those who watch, in order.
    var ownFrames: [WatchFrame] = []
    /// Who types.
    var typing = Typing()
    var checkpoints = CheckpointExchange()
    /// What it has done so far.
    var tally = NodeTally()
    var isEnding = false
    private var nextTicket: UInt64 = 1
    /// The commits handed out and not done, in order.
    private var underway: [Commit] = []
    /// What a failed commit did not keep; handed out again with the next, or with the next tick.
    private var unkept: [Setting] = []
    private(set) var isCommitting = true
    /// The shard of which a batch was last read for a pull.
    private var lastServed = ShardID(0)
    private var isReady = false
    /// When it learnt which cluster it is in, or the start.
    private var joinedAt: UInt64
    private var tickedAt: UInt64
    /// The disk is behind: nothing is read from clients and peers.
    var isCongested = false
    /// The disk is behind, or too much waits for others: nothing is read from clients.
    private(set) var isHoldingClients = false

    package init(_ options: NodeOptions, ports: NodePorts) {
        self.options = options
        self.ports = ports
        isDebugging = ports.host.isDebugging
        process = ports.entropy.nextID()
        operations = Operations(process: process)
        startedAt = ports.clock.milliseconds
        clusterTime = ClusterTime(
            maxOffsetMilliseconds: options.maxOffsetMilliseconds, ports.clock)
        scrub = Scrub(now: startedAt)
        reachedAt = startedAt
        tickedAt = startedAt
        joinedAt = startedAt
        unanswered = Set(options.join)
        waitingSaidAt = startedAt
        bootstrap = options.isBootstrapping ? Bootstrap(options.join) : nil
        membership = Node.membership(
            of: process, options, table: MemberTable(), ports, now: startedAt)
    }

    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        ports.executor.asUnownedSerialExecutor()
    }

    var me: Member { membership.me }
}

// MARK: Start

extension Node {
    private enum SettingName {
        static let cluster = "cluster"
        static let members = "members"
    }

    /// Starts from what is on disk: goes on as a member, founds a cluster, or waits to be told of
    /// one.
    ///
    /// - Parameters:
    ///   - bases: what the headers build on, where it can be read.
    ///   - damaged: the shards whose headers are not what was written.
    ///   - loss: what acknowledged writes the disk has lost; nil for none.
    package func start(
        settings: [String: [UInt8]], headers: [ShardID: [UInt8]],
        bases: [ShardID: [UInt8]] = [:], damaged: [ShardID] = [], loss: String? = nil
    ) {
        self.loss = loss
        do throws(WireError) {
            if let bytes = settings[SettingName.members] {
                let table = try MemberTable.decode(bytes)
                membership = Node.membership(
                    of: process, options, table: table, ports, now: ports.clock.milliseconds)
            }
            noteLoss()
            if let bytes = settings[SettingName.cluster] {
                try resume(ClusterSettings.decode(bytes), headers, bases, damaged)
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
        _ settings: ClusterSettings, _ headers: [ShardID: [UInt8]], _ bases: [ShardID: [UInt8]],
        _ damaged: [ShardID]
    ) throws(WireError) {
        guard accepts(settings) else { return }
        cluster = settings
        var stored: [ShardID: ReplicaHeader] = [:]
        var damaged = damaged
        for (shard, bytes) in headers.sorted(by: { $0.key < $1.key }) {
            stored[shard] = try ReplicaHeader.read(bytes, base: bases[shard])
            if stored[shard] == nil { damaged.append(shard) }
        }
        for shard in damaged { stored[shard] = ReplicaHeader(isComplete: false) }
        openShards(settings, stored: stored, isFounded: false)
        doubtShards()
        for shard in damaged { onBadHeader(of: shard) }
    }

    /// Not where a cluster was lost: another one would not be that.
    func found() {
        guard loss == nil else { return }
        let settings = ClusterSettings(
            id: ports.entropy.nextID(), name: options.cluster ?? ClusterName(checked: "grapevine"),
            shards: options.shards ?? Node.shardsDefault,
            replicas: options.replicas ?? Replicas.standard)
        ports.host.log(
            .info,
            "cluster founded cluster=\(settings.name) shards=\(settings.shards) "
                + "replicas=\(settings.replicas)")
        cluster = settings
        joinedAt = ports.clock.milliseconds
        keep(settings)
        openShards(settings, stored: [:], isFounded: true)
    }

    /// Takes part in the cluster that a member told of.
    func adopt(_ settings: ClusterSettings) {
        guard accepts(settings) else { return }
        ports.host.log(
            .info,
            "cluster joined cluster=\(settings.name) shards=\(settings.shards) "
                + "replicas=\(settings.replicas)")
        cluster = settings
        joinedAt = ports.clock.milliseconds
        keep(settings)
        openShards(settings, stored: [:], isFounded: false)
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
        if let replicas = options.replicas, replicas != settings.replicas {
            ports.host.end(
                .badOption(
                    "--replicas \(replicas): this cluster keeps \(settings.replicas) copies"))
            return false
        }
        return true
    }

    private func openShards(
        _ settings: ClusterSettings, stored: [ShardID: ReplicaHeader], isFounded: Bool
    ) {
        held = Array(repeating: nil, count: Int(settings.shards))
        placeOwners()
        for number in 0..<settings.shards {
            let id = ShardID(number)
            guard isFounded || stored[id] != nil else { continue }
            let header = stored[id] ?? ReplicaHeader(isComplete: false)
            open(id, stored: header, isFounded: isFounded)
        }
        keepMembers()
        placeShards()
    }

    private func keep(_ settings: ClusterSettings) {
        settingsToKeep.append(Setting(name: SettingName.cluster, value: settings.encoded))
    }

    func keepMembers() {
        guard cluster != nil else { return }
        settingsToKeep.append(
            Setting(name: SettingName.members, value: membership.table.encoded))
    }
}

// MARK: Turns

extension Node {
    /// The end of a turn of the event loop: what changed in it goes to the disk as one commit and
    /// to the co-owners as one write each.
    package func onTurnEnd() {
        continueFrames()
        tendReadBarriers()
        sendForwards()
        startLists()
        tellNotified()
        var writes: [ShardWrite] = []
        var drops: [ShardID] = []
        var served: [(shard: Shard, peers: [NodeName])] = []
        for shard in dirty.take().compactMap({ shard($0) }) {
            let end = shard.assumeIsolated { [nextTicket] in $0.endTurn(nextTicket) }
            if let write = end.write { writes.append(write) }
            rewriting.note(shard.id, end.unsettledBytes)
            if end.isDropped { drops.append(shard.id) }
            send(end.frames, of: shard)
            settle(end.settled)
            if !end.served.isEmpty {
                served.append((shard, end.served))
                // Until all of it is sent.
                dirty.insert(shard.id)
            }
            for peer in end.divergences { noteDivergence(of: shard.id, from: peer) }
            if let damage = end.damage { onDamage(damage, of: shard.id) }
        }
        followMembership()
        let rewritten = continueScrub()
        continueChecks()
        commit(writes + rewritten + setAsideBadRecords(), drops)
        giveUpBackup()
        serve(served)
        settleTyping()
        settleSubscriptions()
        serveFeeds()
        offerDropped()
        for link in links.ascending { link.flush() }
        settleWaits()
        noteCongestion()
    }

    private func commit(_ writes: [ShardWrite], _ drops: [ShardID]) {
        guard !writes.isEmpty || !drops.isEmpty || !settingsToKeep.isEmpty else { return }
        lookAtDiskAgain()
        let settings = unkept + settingsToKeep
        unkept = []
        settingsToKeep = []
        ports.store.commit(writes, drops: drops, settings: settings, ticket: nextTicket)
        underway.append(
            Commit(
                ticket: nextTicket, shards: writes.map(\.shard), drops: drops,
                settings: settings, records: writes.reduce(0) { $0 + $1.records.count },
                since: ports.clock.microseconds))
        nextTicket += 1
    }

    /// The most batches read from the disk in one turn, so that a pull does not hold up clients.
    private static let batchesPerTurn = 4

    /// Reads a batch for each of some pulls.
    ///
    /// The shards take turns, so that none of many pulls is given up for its silence.
    private func serve(_ served: [(shard: Shard, peers: [NodeName])]) {
        guard !served.isEmpty else { return }
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
                let frames = within(shard) { $0.serveBatch(to: peer) }
                send(frames, of: shard)
                ports.host.turnAgain()
            }
        }
    }

    private func send(_ frames: [(to: NodeName, frame: Frame)], of shard: Shard) {
        for (peer, frame) in frames where links[peer]?.send(frame) == false {
            within(shard) { $0.onDropped(frame, to: peer) }
        }
    }

    private func offerDropped() {
        for link in links.ascending {
            let name = link.name
            for id in link.takeDropped() {
                if let shard = shard(id) { within(shard) { $0.offer(to: name) } }
                ports.host.turnAgain()
            }
        }
    }

    private func noteCongestion() {
        let isCongested = isMuchUnstored(isCongested ? 2 : 1)
        if isCongested != self.isCongested {
            self.isCongested = isCongested
            let now = ports.clock.milliseconds
            for link in links.ascending {
                updatePause(of: link)
                link.link.onHeard(now: now)
            }
        }
        let isBusy = isHoldingClients ? !isLittleAsked : isMuchAsked
        let isHolding = isCongested || isBusy
        guard isHolding != isHoldingClients else { return }
        isHoldingClients = isHolding
        ports.host.setClientsPaused(isHolding)
    }

    /// Whether so much waits for others that clients have to wait, too.
    private var isMuchAsked: Bool { forwards.isHigh || shardCalls.count >= ShardCall.countHigh }

    private var isLittleAsked: Bool { forwards.isLow && shardCalls.count < ShardCall.countHigh / 2 }

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
        tally.isDiskFull = false
        pressure.isLocked = false
        settle(noteCommitted(ticket))
        noteReady()
    }

    /// - Returns: the replies that may be sent.
    private func noteCommitted(_ ticket: UInt64) -> [(ReplySlot, Stored)] {
        var settled: [(ReplySlot, Stored)] = []
        let now = ports.clock.microseconds
        while let first = underway.first, first.ticket <= ticket {
            underway.removeFirst()
            tally.commits.note(now - min(now, first.since))
            tally.records.note(UInt64(first.records))
            debugStored(first, now: now)
            for id in first.shards {
                guard let shard = shard(id) else { continue }
                settled += within(shard) { $0.onCommitted(ticket) }
                rewriting.note(id, shard.assumeIsolated { $0.unsettledBytes })
                announce(shard)
                finishRepair(of: shard)
            }
            onDropped(first.drops)
        }
        return settled
    }

    private func debugStored(_ commit: Commit, now: UInt64) {
        let took = now - min(now, commit.since)
        let shards = commit.shards.map(String.init(describing:)).joined(separator: ",")
        debug("stored documents=\(commit.records) us=\(took) shards=\(shards)")
    }

    private func onCommitFailed(_ failure: StoreFailure) {
        if isCommitting {
            isCommitting = false
            ports.host.log(.error, "commit failed: \(failure); writes are refused until one works")
        }
        tally.failedCommits += 1
        tally.isDiskFull = failure == .full
        pressure.isLocked = failure == .locked
        if case .failed(let reason) = failure { ports.host.end(.diskFailed(reason)) }
        if failure == .full { lookAtDisk() }
        let failed = Set(underway.flatMap(\.shards)).sorted()
        keepLater(underway.flatMap(\.settings))
        for id in underway.flatMap(\.drops) { shard(id).map { within($0) { $0.onDropFailed() } } }
        underway = []
        restartRepairs()
        ports.store.resume()
        let slots = failed.map { id in
            (id, shard(id).map { within($0) { $0.onCommitFailed() } } ?? [])
        }
        // Whoever is told may write again at once, so every shard is as on disk before anybody is.
        for (id, slots) in slots { fail(slots, of: id, because: failure) }
    }

    private func keepLater(_ settings: [Setting]) {
        unkept += settings
        guard settings.contains(where: { $0.name == SettingName.cluster }) else { return }
        // Shards without the cluster that they belong to would be lost with this process.
        ports.host.end(.diskFailed("no room to store which cluster this node is in"))
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
        lookAtDisk()
        if isCongested { for link in links.ascending { membership.onHeard(link.name, now: now) } }
        membership.onTick(now: now)
        followMembership()
        tickClock()
        tickLinks(now: now, isDeaf: isLate || isCongested)
        tickRequests(now: now)
        tickBootstrap(now: now)
        settleLoss()
        tickLock()
        tickScrub(now: now)
        tickCheckpoints(now: now)
        checkForeign(now: now)
        dial(now: now)
        if !links.isEmpty || cluster == nil { reachedAt = now }
        if !links.isEmpty { nameTakenAt = nil }
        let isAlone =
            repairs.isEmpty
            && (now >= reachedAt + Node.solitudeMilliseconds || membership.dialable.isEmpty)
        for shard in shards {
            settle(
                within(shard) { shard in
                    if isAlone { shard.onNobodyReached() }
                    return shard.onTick()
                })
        }
        noteReady()
        noteFetched()
        tickSafety(now: now)
    }

    /// How long a node that joined may take to fetch what it owns before it takes clients all the
    /// same, in milliseconds: others answer for it meanwhile.
    private static let fetchMilliseconds: UInt64 = 3_000

    private func noteReady() {
        guard !isReady, cluster != nil, underway.isEmpty, settingsToKeep.isEmpty else { return }
        let isServing = shards.allSatisfy { $0.assumeIsolated { $0.isReady || $0.isForeign } }
        let isPatient = ports.clock.milliseconds < joinedAt + Node.fetchMilliseconds
        guard isServing || (!isPatient && !links.isEmpty) else { return }
        isReady = true
        ports.host.onReady()
    }
}
