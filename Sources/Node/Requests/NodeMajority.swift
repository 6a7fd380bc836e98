import CRDT
import Membership
import Replication
import Wire

/// A token that waits until all that it stands for is on a majority of the owners.
struct MajorityWait: Sendable {
    /// The place of the token, or of the answer to a member that makes one.
    let slot: ReplySlot
    let deadline: UInt64
    /// What is not known to be on a majority; the last shard is judged first.
    var remaining: [(shard: ShardID, vector: Vector)]
    /// Whether the last shard may have changed since it was judged.
    var isDue = true

    /// How long a token waits at most, in milliseconds: as long as an `OK`.
    static let patienceMilliseconds: UInt64 = 1_000
    /// How long a member waits for a token of another node, in milliseconds; it is asked again
    /// then.
    static let patienceOfMemberMilliseconds: UInt64 = 400
    /// The most tokens that wait; those beyond it leave at once.
    static let countMax = 16_384
}

/// The wait of tokens for a majority.
///
/// A token that names what a single node has could not be honoured while that node is dead. So one
/// leaves once all that it names is on a majority of the owners, or after a second.
extension Node {
    /// Has a token wait until these changes are on a majority of the owners, where they are not.
    ///
    /// - Parameter others: the shards of other nodes of which some changes may not be.
    /// - Returns: whether the token waits.
    package func awaitMajority(
        _ slot: ReplySlot, of seen: [(shard: ShardID, vector: Vector)],
        elsewhere others: Set<ShardID>
    ) -> Bool {
        let remaining = seen.filter { id, vector in
            shard(id)?.assumeIsolated { $0.awaitsMajority(vector) } ?? others.contains(id)
        }
        return begin(slot, remaining, for: MajorityWait.patienceMilliseconds)
    }

    /// Answers a member that asks how many owners have changes, once those are a majority.
    func count(_ vector: Vector, of shard: Shard, forTokenAt slot: ReplySlot) {
        let waits =
            shard.assumeIsolated { $0.awaitsMajority(vector) }
            && begin(slot, [(shard.id, vector)], for: MajorityWait.patienceOfMemberMilliseconds)
        guard !waits else { return }
        sendResponse(.copies(shard.assumeIsolated { $0.copies(of: vector) }), to: slot)
    }

    private func begin(
        _ slot: ReplySlot, _ remaining: [(shard: ShardID, vector: Vector)],
        for milliseconds: UInt64
    ) -> Bool {
        guard !remaining.isEmpty, majorityWaits.count < MajorityWait.countMax else { return false }
        let deadline = ports.clock.milliseconds + milliseconds
        majorityWaits.append(MajorityWait(slot: slot, deadline: deadline, remaining: remaining))
        for (id, vector) in remaining {
            if let shard = shard(id) {
                within(shard) { $0.check(vector, isAgain: false) }
            } else {
                askForMajority(of: vector, in: id, for: slot)
            }
        }
        ports.host.turnAgain()
        return true
    }

    private func askForMajority(of vector: Vector, in id: ShardID, for slot: ReplySlot) {
        guard copyCalls.count < CopiesCall.countMax, case .member(let name) = route(of: id)
        else { return }
        askForCopies(of: vector, in: id, from: name, for: slot, forToken: true)
    }

    /// Records how many owners have a shard's changes, as a member has counted.
    ///
    /// - Returns: whether a token waits at the slot.
    func noteCounted(_ count: Int, in id: ShardID, for slot: ReplySlot) -> Bool {
        guard let index = majorityWaits.firstIndex(where: { $0.slot == slot }) else { return false }
        if count >= majority { majorityWaits[index].remaining.removeAll { $0.shard == id } }
        majorityWaits[index].isDue = true
        ports.host.turnAgain()
        return true
    }

    /// Lets the tokens leave that have waited for long enough.
    ///
    /// - Parameter changed: the shards of which anything has changed since the last call.
    func settleMajorityWaits(_ changed: [ShardID]) {
        guard !majorityWaits.isEmpty else { return }
        let changed = Set(changed)
        let now = isEnding ? .max : ports.clock.milliseconds
        let judged = majorityWaits.map { judge($0, changed) }
        majorityWaits = judged.filter { !$0.remaining.isEmpty && now < $0.deadline }
        for wait in judged where wait.remaining.isEmpty || now >= wait.deadline { finish(wait) }
    }

    /// Removes from a wait what is on a majority by now.
    private func judge(_ wait: MajorityWait, _ changed: Set<ShardID>) -> MajorityWait {
        var wait = wait
        while let (id, vector) = wait.remaining.last, wait.isDue || changed.contains(id) {
            wait.isDue = shard(id).map { !$0.assumeIsolated { $0.awaitsMajority(vector) } } ?? false
            guard wait.isDue else { break }
            wait.remaining.removeLast()
        }
        return wait
    }

    private func finish(_ wait: MajorityWait) {
        let isProven = wait.remaining.isEmpty
        if wait.slot.isOfMember {
            sendResponse(.copies(isProven ? majority : 0), to: wait.slot)
        } else {
            sinks[wait.slot.session]?.onSettled(
                wait.slot.number, .copies(majority, isEnough: isProven))
        }
    }

    private var majority: Int { (owners.first?.count ?? 0) / 2 + 1 }

    /// Asks again for what was not answered.
    func tickMajorityWaits() {
        guard !majorityWaits.isEmpty else { return }
        let asked = Set(
            copyCalls.values.map { SessionShard(session: $0.slot.session, shard: $0.shard) })
        var here: [ShardID: Vector] = [:]
        for index in majorityWaits.indices {
            majorityWaits[index].isDue = true
            let (slot, remaining) = (majorityWaits[index].slot, majorityWaits[index].remaining)
            for (id, vector) in remaining {
                if shard(id) != nil {
                    here[id, default: Vector()].formUnion(vector)
                } else if !asked.contains(SessionShard(session: slot.session, shard: id)) {
                    askForMajority(of: vector, in: id, for: slot)
                }
            }
        }
        for (id, vector) in here.sorted(by: { $0.key < $1.key }) {
            if let shard = shard(id) { within(shard) { $0.check(vector, isAgain: true) } }
        }
    }
}
