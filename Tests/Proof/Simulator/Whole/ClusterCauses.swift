import Chat
import Node
import Replication
import Wire

/// A message together with those that it may answer.
struct ClusterReply {
    let conversation: String
    let askedAt: UInt64
    /// The messages that the accepting node, or the sender's connection, had seen before.
    let causes: Set<String>
    /// Per machine, the state of its process when the message was sent; nil if none ran.
    let glances: [ClusterGlance?]
}

/// The state of a process that shows later whether it announced changes as they came.
struct ClusterGlance {
    let process: Int
    let pullsBegun: UInt64
    let isPulling: Bool
}

/// The checks of the order in which watchers are told of messages.
///
/// A pushed change is announced after everything that its node had before, wherever that came from.
/// Pulled changes have no such order, nor have changes that are read from disk for a watcher that
/// was away; and a node that has just started, or whose disk is full, does not accept every push.
extension ClusterWorld {
    /// The time for which a node waits for a cause, in microseconds; after that, it announces the
    /// answer first.
    private var causePatienceMicroseconds: UInt64 { plan.causePatienceMilliseconds * 1_000 }
    /// The number of latest messages that are examined as possible causes.
    private static let causesLookedAt = 200
    /// The time for which a pull that was given up may still bring documents, in microseconds: a
    /// peer connection is given up after 6 s.
    private static let brokenPullMicroseconds: UInt64 = 7_000_000
    /// The time in which a node that became ready, or has disk space again, begins to announce
    /// changes itself and to accept pushes, in microseconds.
    private static let settlingMicroseconds: UInt64 = 250_000

    // MARK: Sent messages

    /// Records the causes of a message that is being sent: it may answer all that its node has of
    /// the shard or, if the node has no ready replica, what its connection was shown.
    func noteCauses(of name: ClusterMessage.Name, on visit: ClusterVisit) {
        guard expectations.messages[name.id]?.attempts == 1 else {
            replies[name.id] = nil
            return
        }
        let (shard, machine) = (shard(of: name.conversation), machines[visit.address.machine])
        let isHere = isReady(machine, shard)
        var causes: Set<String> = []
        for other in expectations.names.suffix(ClusterWorld.causesLookedAt)
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

    /// Whether a message was sent once and recently, and no change of it was requested: then its
    /// sending is its only event.
    private func isPlain(_ id: String) -> Bool {
        guard let message = expectations.messages[id], let askedAt = message.askedAt else {
            return false
        }
        return now < askedAt + causePatienceMicroseconds && message.isPlain
    }

    /// Whether a user can have seen a message on a machine: a message may arrive before its
    /// conversation, and is shown to nobody until then.
    private func isStored(_ name: ClusterMessage.Name, at machine: ClusterMachine) -> Bool {
        let conversation = ConversationID(checked: name.conversation)
        let message = DocumentKey.message(MessageID(checked: name.id), in: conversation)
        return machine.holds(message) && machine.holds(.conversation(conversation))
    }

    // MARK: Announced messages

    /// Checks the order when a watcher is told of a message.
    func judgeOrder(_ id: String, for watcher: ClusterWatcher, on visit: ClusterVisit) {
        if let reply = visit.overtaken.removeValue(forKey: id),
            expectations.messages[id]?.attempts == 1
        {
            fail(.cause, "\(watcher.user) is told of \(reply) before \(id), which it may answer")
        }
        guard let reply = replies[id], let watchedAt = visit.watchedAt, watchedAt < reply.askedAt,
            expectations.messages[id]?.attempts == 1, !reply.causes.isEmpty
        else { return }
        let lacked = reply.causes.filter { watcher.expectations.entries[$0] == nil && isPlain($0) }
        guard !lacked.isEmpty else { return coverage.count("told behind its causes") }
        let shard = shard(of: reply.conversation)
        let tellers = tellers(of: shard, to: visit.address.machine, since: reply.askedAt)
        guard tellers.allSatisfy({ isLive($0, since: reply) }) else {
            return coverage.count("told without a cause, not live")
        }
        for cause in lacked.sorted() {
            guard let message = expectations.messages[cause], let askedAt = message.askedAt,
                tellers.allSatisfy({
                    tookAll(of: shard, $0, since: askedAt)
                        && !hasWaited(forConversationOf: message.name, $0)
                })
            else { continue }
            coverage.count("told without a cause")
            visit.overtaken[cause] = id
        }
    }

    /// Returns the machines that may announce a shard to a node: itself if it was ready before,
    /// else all.
    private func tellers(of shard: ShardID, to index: Int, since moment: UInt64) -> [Int] {
        let readySince = machines[index].process?.readySince[shard]
        let isOwn = readySince.map { $0 + ClusterWorld.settlingMicroseconds < moment } ?? false
        return isOwn ? [index] : Array(machines.indices)
    }

    /// Whether a machine received all that it announces by pushes, and announced it at once.
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

    /// Whether a machine certainly accepted all pushes since `moment`.
    private func tookAll(of shard: ShardID, _ index: Int, since moment: UInt64) -> Bool {
        let machine = machines[index]
        guard machine.fullBy == 0, machine.isCalm(since: moment, ClusterWorld.settlingMicroseconds)
        else { return false }
        guard let readySince = machine.process?.readySince[shard] else { return true }
        return readySince + ClusterWorld.settlingMicroseconds < moment
    }

    /// Whether a machine lacks the conversation of a message, and may have waited for it for as
    /// long as it waits for any cause.
    private func hasWaited(forConversationOf name: ClusterMessage.Name, _ index: Int) -> Bool {
        guard let askedAt = expectations.creationsAskedAt[name.conversation],
            now >= askedAt + causePatienceMicroseconds
        else { return false }
        return !machines[index].holds(.conversation(ConversationID(checked: name.conversation)))
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

    /// Returns the state of a machine's process; nil if none runs.
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

    /// Records, within each step of a process, whether it announces changes as they come.
    func noteReading(by process: ClusterProcess) {
        if !process.node.assumeIsolated({ $0.isTellingLive }) { process.readBackAt = now }
    }

    /// Records, within each step of a process, since when each of its shards is ready.
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
