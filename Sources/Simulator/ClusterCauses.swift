import Chat
import Node
import Replication
import Wire

/// A message as one that may answer others.
struct ClusterReply {
    let conversation: String
    let askedAt: UInt64
    /// The messages that whoever accepted it had before.
    let causes: Set<String>
    /// What was there of each machine then.
    let glances: [ClusterGlance?]
}

/// What of a running process tells whether it told of changes as they came.
struct ClusterGlance {
    let process: Int
    let pullsBegun: UInt64
    let isPulling: Bool
}

/// In which order watchers are told of messages.
///
/// What is pushed is told behind all that its node had before, wherever that comes from. There is
/// no such order in what is pulled, nor in what is read from a disk for who was away; and who has
/// just started, or has a full disk, does not take all that is pushed.
extension ClusterWorld {
    /// How long a cause is waited for, in microseconds: after that, an answer is told before it.
    private var causePatienceMicroseconds: UInt64 { plan.causePatienceMilliseconds * 1_000 }
    /// How many messages are looked at, from the latest back, to find those of that time.
    private static let causesLookedAt = 200
    /// How long a pull that was given up may still bring something, in microseconds: a connection
    /// is given up after 6 s.
    private static let brokenPullMicroseconds: UInt64 = 7_000_000
    /// How long a node that is ready, or has room on its disk again, may take to tell its watchers
    /// itself and to take what it is pushed, in microseconds.
    private static let settlingMicroseconds: UInt64 = 250_000

    // MARK: What is asked

    /// A message is sent: it may answer all that its node has of the shard, or else what its
    /// connection was shown.
    func noteCauses(of name: ClusterMessage.Name, on visit: ClusterVisit) {
        guard book.messages[name.id]?.attempts == 1 else {
            replies[name.id] = nil
            return
        }
        let (shard, machine) = (shard(of: name.conversation), machines[visit.address.machine])
        let isHere = isReady(machine, shard)
        var causes: Set<String> = []
        for other in book.names.suffix(ClusterWorld.causesLookedAt)
        where other.id != name.id && self.shard(of: other.conversation) == shard {
            guard isPlain(other.id) else { continue }
            let isSeen = isHere ? isStored(other, at: machine) : visit.known.present.contains(other)
            if isSeen { causes.insert(other.id) }
        }
        replies[name.id] = ClusterReply(
            conversation: name.conversation, askedAt: now, causes: causes,
            glances: machines.map(glance))
    }

    func shard(of conversation: String) -> ShardID {
        ShardID(of: conversation, count: UInt16(plan.shards))
    }

    /// Whether it was sent once, not long ago, and nothing else was asked of it: then its sending
    /// is all that there is to tell.
    private func isPlain(_ id: String) -> Bool {
        guard let message = book.messages[id], let askedAt = message.askedAt else { return false }
        return now < askedAt + causePatienceMicroseconds && message.isPlain
    }

    /// Whether somebody can have seen it there: a message may come before its conversation, and is
    /// shown to nobody until then.
    private func isStored(_ name: ClusterMessage.Name, at machine: ClusterMachine) -> Bool {
        let conversation = ConversationID(checked: name.conversation)
        let message = DocumentKey.message(MessageID(checked: name.id), in: conversation)
        return machine.executor.run {
            machine.disk.assumeIsolated {
                $0.holds(message) && $0.holds(.conversation(conversation))
            }
        }
    }

    // MARK: What is told

    /// A watcher is told of a message.
    func judgeOrder(_ id: String, for watcher: ClusterWatcher, on visit: ClusterVisit) {
        if let reply = visit.overtaken.removeValue(forKey: id),
            book.messages[id]?.attempts == 1
        {
            fail(.cause, "\(watcher.user) is told of \(reply) before \(id), which it may answer")
        }
        guard let reply = replies[id], let watchedAt = visit.watchedAt, watchedAt < reply.askedAt,
            book.messages[id]?.attempts == 1, !reply.causes.isEmpty
        else { return }
        let lacked = reply.causes.filter { watcher.book.entries[$0] == nil && isPlain($0) }
        guard !lacked.isEmpty else { return coverage.count("told behind its causes") }
        let shard = shard(of: reply.conversation)
        let tellers = tellers(of: shard, to: visit.address.machine, since: reply.askedAt)
        guard tellers.allSatisfy({ isLive($0, since: reply) }) else {
            return coverage.count("told without a cause, not live")
        }
        for cause in lacked.sorted() {
            guard let askedAt = book.messages[cause]?.askedAt,
                tellers.allSatisfy({ tookAll(of: shard, $0, since: askedAt) })
            else { continue }
            coverage.count("told without a cause")
            visit.overtaken[cause] = id
        }
    }

    /// Those who may tell a node of a shard: itself where it was ready before, else any.
    private func tellers(of shard: ShardID, to index: Int, since moment: UInt64) -> [Int] {
        let readySince = machines[index].process?.readySince[shard]
        let isOwn = readySince.map { $0 + ClusterWorld.settlingMicroseconds < moment } ?? false
        return isOwn ? [index] : Array(machines.indices)
    }

    /// Whether what a machine tells came to it by a push, and was told at once.
    private func isLive(_ index: Int, since reply: ClusterReply) -> Bool {
        let machine = machines[index]
        guard let before = reply.glances[index] else { return machine.process == nil }
        guard let process = machine.process, let after = glance(machine) else { return true }
        return process.id == before.process && !before.isPulling
            && after.pullsBegun == before.pullsBegun
            && process.readBackAt.map { $0 < reply.askedAt } ?? true
            && process.pullBrokenAt.map {
                $0 + ClusterWorld.brokenPullMicroseconds < reply.askedAt
            } ?? true
    }

    /// Whether a machine surely took all pushes from then on.
    private func tookAll(of shard: ShardID, _ index: Int, since moment: UInt64) -> Bool {
        let machine = machines[index]
        guard machine.fullBy == 0, machine.isCalm(since: moment, ClusterWorld.settlingMicroseconds)
        else { return false }
        guard let readySince = machine.process?.readySince[shard] else { return true }
        return readySince + ClusterWorld.settlingMicroseconds < moment
    }

    // MARK: Nodes

    private func isReady(_ machine: ClusterMachine, _ shard: ShardID) -> Bool {
        guard let node = machine.process?.node else { return false }
        return machine.executor.run {
            node.assumeIsolated {
                $0.shard(shard)?.assumeIsolated { $0.isReady } ?? false
            }
        }
    }

    /// Nil where no process runs.
    private func glance(_ machine: ClusterMachine) -> ClusterGlance? {
        guard let process = machine.process else { return nil }
        let tally = machine.executor.run { process.node.assumeIsolated { $0.metrics().copies } }
        if tally.pullsBroken > process.pullsBroken {
            process.pullsBroken = tally.pullsBroken
            process.pullBrokenAt = now
        }
        return ClusterGlance(
            process: process.id, pullsBegun: tally.pullsBegun,
            isPulling: tally.pullsBegun > tally.pullsDone + tally.pullsBroken)
    }

    /// After each step of a process, inside it.
    func noteReading(by process: ClusterProcess) {
        if process.node.assumeIsolated({ $0.untold }) != nil { process.readBackAt = now }
    }

    /// After each step of a process, inside it.
    func noteReady(_ process: ClusterProcess) {
        for number in 0..<UInt16(plan.shards) {
            let shard = ShardID(number)
            let isReady = process.node.assumeIsolated {
                $0.shard(shard)?.assumeIsolated { $0.isReady } ?? false
            }
            process.readySince[shard] = isReady ? process.readySince[shard] ?? now : nil
        }
    }
}
