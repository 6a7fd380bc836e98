import Membership
import Replication
import StorePort
import Wire

/// The actor of a node: it owns the shards, the connections to the other members and all tables of
/// pending work, and at the end of each turn sends what changed to the disk and to the members.
///
/// The node runs on one event loop together with its shards and sessions; everything between a line
/// and its reply is synchronous there.
package actor Node {
    /// The version of the program.
    package static let version = "0.1.0"
    /// The number of shards of a new cluster, unless the options name one.
    package static let shardsDefault: UInt16 = 64
    /// The interval at which `onTick` is due, in milliseconds.
    package static let tickMilliseconds: UInt64 = 100
    /// How long a node has to be without a connection to any member, in milliseconds, before its
    /// complete shard replicas serve although they could not be compared with others.
    static let solitudeMilliseconds: UInt64 = 1_000
    /// The maximum number of bytes that wait to be committed; above it the node stops reading from
    /// clients and peers, until at most half of it waits.
    ///
    /// A regular shutdown stores them all: a slow disk takes one or two seconds for so much.
    static let storeBytesMax = 16 << 20

    package nonisolated let options: NodeOptions
    nonisolated let ports: NodePorts
    /// Whether lines of the log level `debug` are written.
    package nonisolated let isDebugging: Bool
    let process: RandomID
    let startedAt: UInt64

    var cluster: ClusterSettings?
    var membership: Membership
    /// The hash of the member table for which the owners were last computed and stored.
    var followedTable: UInt64 = 0
    /// The placement ring from which `owners` was computed.
    var placedRing: [NodeName] = []
    /// The owners of each shard, by the shard's number.
    var owners: [[NodeName]] = []
    /// The shards by number; nil for a shard without a replica here.
    var held: [Shard?] = []
    /// The shards with a replica here, ascending by id.
    package internal(set) var shards: [Shard] = []
    var dirty = DirtyShards()
    var rewriting = Rewriting()
    /// The members from which nothing is read, by a simulated cut of the network.
    var cutIn: Set<NodeName> = []
    /// The members to which nothing is sent, by a simulated cut of the network.
    var cutOut: Set<NodeName> = []
    /// Whether this node leaves the cluster: the process ends once no shard replica is left here.
    var isLeaving = false
    /// Whether it leaves once another member can take over: all were to leave, and it had to stay.
    var waitsToLeave = false
    /// The connections on which no hello has arrived yet, by channel id.
    var greetings: [UInt64: Greeting] = [:]
    /// The members that the member table on disk has and that have not left.
    var storedMembers: Set<NodeName> = []
    var links = PeerConnections()
    var dialer = Dialer()
    /// The addresses given by `--join` or `JOIN` that have not answered yet.
    var unanswered: Set<String>
    /// The addresses of `unanswered` that the log has named as not answering.
    var silentJoins: Set<String> = []
    /// The decision whether this node founds the cluster of the nodes at the `--join` addresses;
    /// nil unless the options ask for one, and once it is founded.
    var bootstrap: Bootstrap?
    /// When the log last said that this node waits for a cluster, or the start; in milliseconds.
    var waitingSaidAt: UInt64
    /// The addresses that were logged as being of another cluster; and, behind the word `version `,
    /// those that were logged as speaking no common protocol version.
    var strangers: Set<String> = []
    /// The number of connections closed for bytes that no node sends, since that was last logged.
    var strangersSeen = 0
    var strangersLoggableFrom: UInt64 = 0
    /// The settings to store with the next commit.
    var settingsToKeep: [Setting] = []
    /// The shards whose damaged records are being set aside.
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
    /// When this node last had a connection to a member, was in no cluster, or was told that its
    /// name is taken, in milliseconds; at first, the start.
    var reachedAt: UInt64
    /// When a node first answered that a living member has this node's name, in milliseconds, and
    /// when that was first repeated after `namePatienceMilliseconds`; nil once a member connects.
    var nameTakenAt: (first: UInt64, again: UInt64?)?

    /// The numbering of this process's operations: one for all shards, in the order of their lines.
    var operations: Operations
    var clusterTime: ClusterTime
    var safety = Safety()
    /// Whether all shards that this node owns have been ready at the same time since its start.
    var hasFetched = false
    /// The running requests for notifications, by the session number of their steps.
    var notifyings: [UInt64: NotificationRequest] = [:]
    var blockChecks = BlockChecks()
    var profiles = ProfileJobs()
    /// The replies to requests for notifications that leave at the end of the turn.
    var notified: [(slot: ReplySlot, outcome: Completion)] = []

    /// The receivers of replies, by session number.
    var sinks: [UInt64: any ReplySink] = [:]
    /// The members to ask for each shard, and those not to ask at the moment.
    var routes = Routes()
    /// The number of the next `PeerRequest`.
    var nextCall: UInt64 = 1
    var forwards = Forwards()
    /// Responses that wait for commits: to members, and to clients whose request was deferred.
    var pendingResponses: [ReplySlot: PendingResponse] = [:]
    /// The recent refusals of members' requests, by member and shard.
    var redirects: [RequestedShard: Redirect] = [:]
    /// The list queries that wait for earlier requests of their session, by session and in order.
    var deferredQueries: [UInt64: [DeferredQuery]] = [:]
    /// The list queries whose parts are being collected from several shards.
    var scatterGathers: [ReplySlot: ScatterGather] = [:]
    /// The requests for sample data whose writes are not all acknowledged.
    var seedings: [ReplySlot: Seeding] = [:]
    var listTurns = ListTurns()
    /// Outstanding list calls, by call number.
    var shardCalls: [UInt64: ShardCall] = [:]
    var largeLists = LargeLists()
    /// The replies that wait until writes are on a number of owners.
    var waits: [CopiesWait] = []
    var majorityWaits: [MajorityWait] = []
    /// Outstanding calls for the number of owners that have some writes, by call number.
    var copyCalls: [UInt64: CopiesCall] = [:]
    /// The read barriers of connections, by session and shard.
    var readBarriers: [SessionShard: ReadBarrier] = [:]
    /// Outstanding calls of read barriers, by call number.
    var barrierCalls: [UInt64: SessionShard] = [:]
    /// The shard replicas here that are being brought up to a read constraint, in order of arrival.
    var catchUps: [CatchUp] = []
    /// The `SINCE` requests that are under way.
    var sinces: [ReplySlot: Since] = [:]
    var publisher = EventPublisher()
    var subscriptions: Subscriptions
    /// The watch frames that this node sends itself, in order, while the first is being handled.
    var ownFrames: [WatchFrame] = []
    var typing = Typing()
    var checkpoints = CheckpointExchange()
    var signing = SigningReplica()
    var pages = MemberPages()
    var tally = NodeTally()
    /// Whether the process is shutting down.
    var isEnding = false
    private var nextTicket: UInt64 = 1
    /// The commits handed to the store without a result so far, in order.
    private var underway: [Commit] = []
    /// The settings of failed commits; handed out again with the next commit, or at the next tick.
    private var unkept: [Setting] = []
    /// Whether the last commit that has a result succeeded.
    private(set) var isCommitting = true
    /// The shard of which a batch was last read for a pull.
    private var lastServed = ShardID(0)
    /// Whether the host has been told that this node serves.
    private var isReady = false
    /// When the node founded or joined its cluster, or the start; in milliseconds.
    var joinedAt: UInt64
    private var tickedAt: UInt64
    /// Whether so much waits for the disk that nothing is read from clients and peers.
    var isCongested = false
    /// Whether nothing is read from clients, because too much waits for the disk or for members.
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
    /// Ends a turn of the event loop: hands what changed in it to the disk as one commit, and to
    /// each co-owner as one write to its connection.
    ///
    /// First comes what may change shards, so that this turn's commit has it; then the commit; then
    /// what only reads, as pulls and feeds do; last the connections are flushed.
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

    /// The most batches read from the disk in one turn, so that pulls do not delay clients.
    private static let batchesPerTurn = 4

    /// Reads and sends the next batches of pulls, at most `batchesPerTurn`.
    ///
    /// The shards take turns: the receiver gives up a pull on which nothing arrives for too long.
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

    /// Takes the result of a commit.
    ///
    /// - Parameter failure: nil once the commit is on disk.
    package func onCommitted(_ ticket: UInt64, failure: StoreFailure?) {
        // When a commit fails, `onCommitFailed` counts all that were handed out after it as failed.
        // The store reports each of these as failed, too: by then only newer commits are under way,
        // and the late report is ignored.
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

    /// Marks all commits up to a ticket as stored.
    ///
    /// - Returns: the replies that may be sent.
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
        // A session may write again as soon as it learns of the failure: so every shard is back at
        // its state on disk before the first session is told.
        for (id, slots) in slots { fail(slots, of: id, because: failure) }
    }

    private func keepLater(_ settings: [Setting]) {
        unkept += settings
        guard settings.contains(where: { $0.name == SettingName.cluster }) else { return }
        // Without these settings on disk, the next process could not open the shards on it.
        ports.host.end(.diskFailed("no room to store which cluster this node is in"))
    }

    /// Whether no commit is under way.
    package var isSettled: Bool { underway.isEmpty }

    /// Does what is due by the clock; called every `tickMilliseconds`.
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

    /// How long a node that has joined waits for its own shards to be ready, in milliseconds,
    /// before it takes clients anyway: other members answer for those shards until then.
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
