import CRDT
import Membership
import Replication
import Wire

/// A token that waits until all changes that it names are on a majority of the owners.
struct MajorityWait: Sendable {
    /// The reply slot of the token, or of the answer to a member that creates a token.
    let slot: ReplySlot
    let deadline: UInt64
    /// The changes not known to be on a majority of the owners; the last shard is checked first.
    var remaining: [(shard: ShardID, vector: Vector)]
    /// Whether the last shard may have changed since it was checked.
    var isDue = true

    /// How long a token waits at most, in milliseconds: as long as the `OK` of a write.
    static let patienceMilliseconds: UInt64 = 1_000
    /// How long a member delays its answer for a token of another node, in milliseconds; then that
    /// node asks again.
    static let patienceOfMemberMilliseconds: UInt64 = 400
    /// The greatest number of waiting tokens; further tokens are sent at once.
    static let countMax = 16_384
}

/// The wait of tokens until their changes are on a majority of the owners.
///
/// A token that names changes of a single node could not be honoured while that node is dead.
/// Therefore a token is sent once all changes that it names are on a majority of the owners, or
/// after a second.
extension Node {
    /// Delays a token until these changes are on a majority of the owners.
    ///
    /// - Parameter others: the shards on other nodes with changes that may not be on a majority.
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

    /// Answers a member's question how many owners have these changes, once a majority has them or
    /// `patienceOfMemberMilliseconds` have passed.
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

    /// Records a member's count of the owners that have a shard's changes.
    ///
    /// - Returns: whether a token waits under this slot.
    func noteCounted(_ count: Int, in id: ShardID, for slot: ReplySlot) -> Bool {
        guard let index = majorityWaits.firstIndex(where: { $0.slot == slot }) else { return false }
        if count >= majority { majorityWaits[index].remaining.removeAll { $0.shard == id } }
        majorityWaits[index].isDue = true
        ports.host.turnAgain()
        return true
    }

    /// Sends the tokens whose changes are on a majority or whose time limit has passed.
    ///
    /// - Parameter changed: the shards that have changed since the last call.
    func settleMajorityWaits(_ changed: [ShardID]) {
        guard !majorityWaits.isEmpty else { return }
        let changed = Set(changed)
        let now = isEnding ? .max : ports.clock.milliseconds
        let judged = majorityWaits.map { judge($0, changed) }
        majorityWaits = judged.filter { !$0.remaining.isEmpty && now < $0.deadline }
        for wait in judged where wait.remaining.isEmpty || now >= wait.deadline { finish(wait) }
    }

    /// Removes from a wait the changes that are on a majority of the owners by now.
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

    /// Repeats the unanswered requests for the confirmations that tokens wait for.
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
