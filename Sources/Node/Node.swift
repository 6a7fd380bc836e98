import Membership
import Replication
import StorePort
import Wire

/// The actor of a node: it owns the shards, the connections to the other members and all tables of
/// pending work. At the end of each turn it sends all changes to the disk and to the members.
///
/// The node, its shards and its sessions run on one event loop and call each other synchronously.
package actor Node {
    /// The version of the program.
    package static let version = "0.1.0"
    /// The number of shards of a new cluster, unless the options specify another number.
    package static let shardsDefault: UInt16 = 64
    /// The interval between two calls of `onTick`, in milliseconds.
    package static let tickMilliseconds: UInt64 = 100
    /// The time without a connection to any member, in milliseconds, after which a node's complete
    /// shard replicas serve requests although they could not be compared with other replicas.
    static let solitudeMilliseconds: UInt64 = 1_000
    /// The maximum number of bytes that wait to be committed.
    ///
    /// Above this limit the node stops reading from clients and peers until at most half of the
    /// limit waits.
    ///
    /// A regular shutdown stores all waiting bytes; a slow disk takes up to two seconds for that.
    static let storeBytesMax = 16 << 20

    package nonisolated let options: NodeOptions
    nonisolated let ports: NodePorts
    /// Whether the node writes log lines of the level `debug`.
    package nonisolated let isDebugging: Bool
    let process: RandomID
    let startedAt: UInt64

    var cluster: ClusterSettings?
    var membership: Membership
    /// The hash of the member table that was last stored and used to compute the owners.
    var followedTable: UInt64 = 0
    /// The placement ring from which `owners` was computed.
    var placedRing: [NodeName] = []
    /// The owners of each shard, by the shard's number.
    var owners: [[NodeName]] = []
    /// The shards by number; nil for a shard of which this node has no replica.
    var held: [Shard?] = []
    /// The shards of which this node has a replica, ascending by id.
    package internal(set) var shards: [Shard] = []
    var dirty = DirtyShards()
    var rewriting = Rewriting()
    /// The members from which this node reads nothing, because a network cut is simulated.
    var cutIn: Set<NodeName> = []
    /// The members to which this node sends nothing, because a network cut is simulated.
    var cutOut: Set<NodeName> = []
    /// Whether this node is leaving the cluster; the process ends once it has no shard replica.
    var isLeaving = false
    /// Whether this node will leave as soon as another member can take over its shards.
    ///
    /// It had to stay because all members were leaving.
    var waitsToLeave = false
    /// The connections on which the exchange of `Hello` frames is not complete, by channel id.
    var greetings: [UInt64: Greeting] = [:]
    /// The members that are in the member table on disk and have not left the cluster.
    var storedMembers: Set<NodeName> = []
    var links = PeerConnections()
    var dialer = Dialer()
    /// The addresses given by `--join` or `JOIN` at which no node has answered yet.
    var unanswered: Set<String>
    /// The addresses in `unanswered` for which the node has logged that no node answers.
    var silentJoins: Set<String> = []
    /// The decision whether this node founds the cluster of the nodes at the `--join` addresses;
    /// nil without `--bootstrap`, and after this node has decided to found the cluster.
    var bootstrap: Bootstrap?
    /// When the node last logged that it waits for a cluster, or the node's start, in milliseconds.
    var waitingSaidAt: UInt64
    /// The addresses logged as belonging to another cluster, and, with the prefix `version `, the
    /// addresses logged as having no protocol version in common with this node.
    var strangers: Set<String> = []
    /// The number of connections closed for invalid bytes since the last log line about such a
    /// close.
    var strangersSeen = 0
    var strangersLoggableFrom: UInt64 = 0
    /// The settings to store with the next commit.
    var settingsToKeep: [Setting] = []
    /// The running repairs of shards with damaged records.
    var repairs: [ShardID: Repair] = [:]
    var pressure = DiskPressure()
    /// When the free disk space was last measured, in milliseconds.
    var lookedAt: UInt64 = 0
    var scrub: Scrub
    var checks = ShardChecks()
    /// A description of the acknowledged writes that the disk has lost, until other nodes have
    /// supplied them; nil for none.
    package internal(set) var loss: String?
    var backup: RunningBackup?
    /// When this node last had a connection to a member, was in no cluster, or was rejected because
    /// its name is taken, in milliseconds; at first, the node's start.
    var reachedAt: UInt64
    /// When a node first rejected this node because a living member has the same name, and when
    /// such a rejection was first repeated after `namePatienceMilliseconds`, both in milliseconds;
    /// nil once a member connects.
    var nameTakenAt: (first: UInt64, again: UInt64?)?

    /// The numbering of this process's operations: one sequence for all shards, in the order in
    /// which the requests were read.
    var operations: Operations
    var clusterTime: ClusterTime
    var safety = Safety()
    /// Whether all shards that this node owns have been ready at one moment since the node's start.
    var hasFetched = false
    /// The running requests for notifications, by the session number that their steps use.
    var notifyings: [UInt64: NotificationRequest] = [:]
    var blockChecks = BlockChecks()
    var profiles = ProfileJobs()
    /// The replies to requests for notifications; the node sends them at the end of the turn.
    var notified: [(slot: ReplySlot, outcome: Completion)] = []

    /// The receivers of replies and events, by session number.
    var sinks: [UInt64: any ReplySink] = [:]
    /// The members to which requests for each shard go, and the members excluded at present.
    var routes = Routes()
    /// The number that the next `PeerRequest` gets.
    var nextCall: UInt64 = 1
    var forwards = Forwards()
    /// Responses that wait for commits: to members, and to clients whose request was deferred.
    var pendingResponses: [ReplySlot: PendingResponse] = [:]
    /// The recent refusals of members' requests, by member and shard.
    var redirects: [RequestedShard: Redirect] = [:]
    /// The list queries that wait for earlier requests of their session, by session, oldest first.
    var deferredQueries: [UInt64: [DeferredQuery]] = [:]
    /// The list queries whose parts are being collected from several shards.
    var scatterGathers: [ReplySlot: ScatterGather] = [:]
    /// The requests for sample data whose writes are not all acknowledged.
    var seedings: [ReplySlot: Seeding] = [:]
    var listTurns = ListTurns()
    /// The unanswered shard calls (requests to members for their parts of lists), by call number.
    var shardCalls: [UInt64: ShardCall] = [:]
    var largeLists = LargeLists()
    /// The replies that wait until their writes are stored by the requested number of owners.
    var waits: [CopiesWait] = []
    var majorityWaits: [MajorityWait] = []
    /// The unanswered requests for the number of owners that have certain writes, by call number.
    var copyCalls: [UInt64: CopiesCall] = [:]
    /// The read barriers of connections, by session and shard.
    var readBarriers: [SessionShard: ReadBarrier] = [:]
    /// The unanswered requests of read barriers to members, by call number.
    var barrierCalls: [UInt64: SessionShard] = [:]
    /// The replicas of this node that are catching up with a read constraint, oldest request first.
    var catchUps: [CatchUp] = []
    /// The `SINCE` requests that have not been answered yet.
    var sinces: [ReplySlot: Since] = [:]
    var publisher = EventPublisher()
    var subscriptions: Subscriptions
    /// The watch frames that this node has sent to itself and not handled completely, in order.
    var ownFrames: [WatchFrame] = []
    var typing = Typing()
    var checkpoints = CheckpointExchange()
    var signing = SigningReplica()
    var pages = MemberPages()
    var tally = NodeTally()
    /// Whether the process is shutting down.
    var isEnding = false
    private var nextTicket: UInt64 = 1
    /// The commits for which the store has not reported a result yet, in order.
    private var underway: [Commit] = []
    /// The settings of failed commits, to store with the next commit or at the next tick.
    private var unkept: [Setting] = []
    /// Whether the last commit for which the store reported a result succeeded.
    private(set) var isCommitting = true
    /// The shard from which the node last read a batch of documents for a pull.
    private var lastServed = ShardID(0)
    /// Whether the node has notified the host that it serves requests.
    private var isReady = false
    /// When this process founded or joined the cluster, or the node's start, in milliseconds.
    var joinedAt: UInt64
    private var tickedAt: UInt64
    /// Whether so many bytes wait for the disk that the node reads nothing from clients and peers.
    var isCongested = false
    /// Whether the node reads nothing from clients, because too much waits for the disk or members.
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
        subscriptions = Subscriptions(tokenBytesMax: options.tokenBytesMax)
        scrub = Scrub(now: startedAt)
        (reachedAt, tickedAt, joinedAt) = (startedAt, startedAt, startedAt)
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

// MARK: Turns

extension Node {
    /// Ends a turn of the event loop: passes the turn's changes to the disk as one commit, and to
    /// each co-owner as one write to its connection.
    ///
    /// Work that may change shards runs first, so that this turn's commit contains the changes.
    /// After the commit the node runs work that only reads, such as pulls and feeds, and then
    /// flushes the connections.
    package func onTurnEnd() {
        continueFrames()
        tendReadBarriers()
        settleBlockChecks()
        sendForwards()
        startLists()
        startLargeLists()
        tellNotified()
        var writes: [ShardWrite] = []
        var drops: [ShardID] = []
        var served: [(shard: Shard, peers: [NodeName])] = []
        let changed = dirty.removeAll()
        for shard in changed.compactMap({ shard($0) }) {
            let end = shard.assumeIsolated { [nextTicket] in $0.endTurn(nextTicket) }
            if let write = end.write { writes.append(write) }
            rewriting.setBytes(shard.id, end.unsettledBytes)
            if end.isDropped { drops.append(shard.id) }
            send(end.frames, of: shard)
            settle(end.settled)
            if !end.served.isEmpty {
                served.append((shard, end.served))
                // The shard stays dirty until all batches of its pulls are sent.
                dirty.insert(shard.id)
            }
            for peer in end.divergences { noteDivergence(of: shard.id, from: peer) }
            if let damage = end.damage { onDamage(damage, of: shard.id) }
            if let news = end.tokenNews { take(news) }
        }
        settleSigning()
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
        settleWaits(changed)
        for connection in links.ascending { connection.flush() }
        noteCongestion()
    }

    private func commit(_ writes: [ShardWrite], _ drops: [ShardID]) {
        guard !writes.isEmpty || !drops.isEmpty || !settingsToKeep.isEmpty else { return }
        lookAtDiskAgain()
        for id in drops { forgetHeldNames(of: id) }
        let settings = unkept + settingsToKeep
        unkept = []
        settingsToKeep = []
        ports.store.commit(writes, drops: drops, settings: settings, ticket: nextTicket)
        signing.noteCommit(nextTicket)
        underway.append(
            Commit(
                ticket: nextTicket, shards: writes.map(\.shard), drops: drops,
                settings: settings, records: writes.reduce(0) { $0 + $1.records.count },
                since: ports.clock.microseconds))
        nextTicket += 1
    }

    /// The maximum number of pull batches read in one turn, so that pulls do not delay clients.
    private static let batchesPerTurn = 4

    /// Reads and sends the next batches of pulls, at most `batchesPerTurn`.
    ///
    /// The shards are served in rotation: a receiver gives up a pull that brings nothing for long.
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
        for connection in links.ascending {
            let name = connection.name
            for id in connection.takeDropped() {
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
            for connection in links.ascending {
                updatePause(of: connection)
                connection.sync.onHeard(now: now)
            }
        }
        let isBusy = isHoldingClients ? !isLittleAsked : isMuchAsked
        let isHolding = isCongested || isBusy
        guard isHolding != isHoldingClients else { return }
        isHoldingClients = isHolding
        ports.host.setClientsPaused(isHolding)
    }

    /// Handles the result of a commit.
    ///
    /// - Parameter failure: the reason why the commit failed; nil once the commit is on disk.
    package func onCommitted(_ ticket: UInt64, failure: StoreFailure?) {
        // When a commit fails, `onCommitFailed` also counts all later commits under way as failed.
        // The store reports each of those commits as failed, too. By then only newer commits are
        // under way, and this guard ignores the late reports.
        guard let oldest = underway.first, oldest.ticket <= ticket else { return }
        if let failure {
            onCommitFailed(failure)
            return
        }
        if !isCommitting {
            isCommitting = true
            ports.host.log(.info, "commits succeed again")
        }
        tally.isDiskFull = false
        pressure.isLocked = false
        settle(noteCommitted(ticket))
        finishSigning(signing.takeStored(ticket), .done)
        noteReady()
    }

    /// Marks all commits up to a ticket (a commit's number) as stored.
    ///
    /// - Returns: the replies that may be sent, because their writes are on disk.
    private func noteCommitted(_ ticket: UInt64) -> [(ReplySlot, Stored)] {
        var settled: [(ReplySlot, Stored)] = []
        var members: Set<NodeName>?
        let now = ports.clock.microseconds
        while let first = underway.first, first.ticket <= ticket {
            underway.removeFirst()
            tally.commits.record(now - min(now, first.since))
            tally.records.record(UInt64(first.records))
            members = first.members ?? members
            debugStored(first, now: now)
            for id in first.shards {
                guard let shard = shard(id) else { continue }
                settled += within(shard) { $0.onCommitted(ticket) }
                rewriting.setBytes(id, shard.assumeIsolated { $0.unsettledBytes })
                announce(shard)
                finishRepair(of: shard)
            }
            onDropped(first.drops)
        }
        if let members { noteStored(members) }
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
        finishSigning(signing.takeFailed(), .failed(.store(failure)))
        restartRepairs()
        ports.store.resume()
        let slots = failed.map { id in
            (id, shard(id).map { within($0) { $0.onCommitFailed() } } ?? [])
        }
        // A session may write again as soon as it is notified of the failure. Therefore every shard
        // returns to its state on disk before the first session is notified.
        for (id, slots) in slots { fail(slots, of: id, because: failure) }
    }

    private func keepLater(_ settings: [Setting]) {
        unkept += settings
        guard settings.contains(where: { $0.name == SettingName.cluster }) else { return }
        // Without the cluster's settings the next process could not open the shards on this disk.
        ports.host.end(.diskFailed("no room to store which cluster this node is in"))
    }

    /// Whether no commit is under way.
    package var isSettled: Bool { underway.isEmpty }

    /// Runs the periodic work of the node; called every `tickMilliseconds`.
    package func onTick() {
        let now = ports.clock.milliseconds
        settingsToKeep = unkept + settingsToKeep
        unkept = []
        let isLate = now > tickedAt + 2 * Node.tickMilliseconds
        tickedAt = now
        lookAtDisk()
        if isCongested {
            for connection in links.ascending { membership.onHeard(connection.name, now: now) }
        }
        membership.onTick(now: now)
        followMembership()
        tickClock()
        tickLinks(now: now, isDeaf: isLate || isCongested)
        tickRequests(now: now)
        tickBootstrap(now: now)
        settleLoss()
        tickLock()
        tickUpkeep(now: now)
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

    /// The time that a node which has joined waits for its own shards to be ready, in milliseconds.
    ///
    /// After that it accepts clients, and other members answer for the shards that are not ready.
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
