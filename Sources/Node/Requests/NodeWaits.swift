import CRDT
import Membership
import Replication
import Wire

/// A `WAIT`: a reply that waits until writes are stored on enough owners.
struct CopiesWait: Sendable {
    let slot: ReplySlot
    let writes: [ShardID: Vector]
    let copies: Int
    let deadline: UInt64
    /// For shards without a replica on this node, the number of owners that have the writes, as
    /// counted by another member.
    var counted: [ShardID: Int] = [:]

    func isOver(with copies: Int, now: UInt64) -> Bool { copies >= self.copies || now >= deadline }
}

/// A call that asks a member on how many owners the writes to a shard are stored.
struct CopiesCall: Sendable {
    /// The slot of the reply that waits for the count.
    let slot: ReplySlot
    let shard: ShardID
    let sentAt: UInt64

    /// How long the member may take to answer the call, in milliseconds.
    static let patienceMilliseconds: UInt64 = 1_000
    /// The greatest number of outstanding calls; further calls are sent later.
    static let countMax = 8_192
}

extension Node {
    /// Delays a reply until these writes are stored on `copies` owners, or until the deadline.
    package func wait(
        _ slot: ReplySlot, for writes: [ShardID: Vector], copies: Int, until deadline: UInt64
    ) {
        let wait = CopiesWait(slot: slot, writes: writes, copies: copies, deadline: deadline)
        waits.append(wait)
        askForCopies(of: wait)
        ports.host.turnAgain()
    }

    /// Ends all waits, because the process ends.
    package func stopWaiting() { isEnding = true }

    /// Returns the number of owners that have stored all writes for which a reply waits.
    private func copies(of wait: CopiesWait) -> Int {
        wait.writes.map { id, vector in
            shard(id)?.assumeIsolated { $0.copies(of: vector) } ?? wait.counted[id] ?? 0
        }.min() ?? owners.first?.count ?? 0
    }

    /// - Parameter changed: the shards that have changed since the last call.
    func settleWaits(_ changed: [ShardID]) {
        settleMajorityWaits(changed)
        guard !waits.isEmpty else { return }
        let now = isEnding ? .max : ports.clock.milliseconds
        let judged = waits.map { wait in (wait, copies: copies(of: wait)) }
        waits = []
        // A notified session may add a wait at once, so the list of waits is completed first.
        for (wait, copies) in judged where !wait.isOver(with: copies, now: now) {
            waits.append(wait)
        }
        for (wait, copies) in judged where wait.isOver(with: copies, now: now) {
            sinks[wait.slot.session]?.onSettled(
                wait.slot.number, .copies(copies, isEnough: copies >= wait.copies))
        }
    }

    // MARK: Shards that others hold

    private func askForCopies(of wait: CopiesWait) {
        for id in wait.writes.keys.sorted() where shard(id) == nil {
            guard wait.counted[id] ?? 0 < wait.copies, let vector = wait.writes[id],
                copyCalls.count < CopiesCall.countMax, case .member(let name) = route(of: id)
            else { continue }
            askForCopies(of: vector, in: id, from: name, for: wait.slot, forToken: false)
        }
    }

    func askForCopies(
        of vector: Vector, in id: ShardID, from name: NodeName, for slot: ReplySlot, forToken: Bool
    ) {
        let number = takeCallNumber()
        let isSent = ask(
            name, .copies(id, vector, forToken: forToken), as: number,
            within: CopiesCall.patienceMilliseconds)
        guard isSent else { return }
        copyCalls[number] = CopiesCall(slot: slot, shard: id, sentAt: ports.clock.milliseconds)
    }

    func onCounted(_ response: PeerResponse, _ asked: CopiesCall) {
        copyCalls[response.number] = nil
        guard case .copies(let count) = response.outcome,
            !noteCounted(count, in: asked.shard, for: asked.slot),
            let index = waits.firstIndex(where: { $0.slot == asked.slot })
        else { return }
        waits[index].counted[asked.shard] = count
    }

    func tickWaits(now: UInt64) {
        guard !waits.isEmpty || !copyCalls.isEmpty else { return }
        copyCalls = copyCalls.filter { now < $1.sentAt + CopiesCall.patienceMilliseconds }
        let asked = Set(copyCalls.values.map(\.slot))
        for wait in waits where !asked.contains(wait.slot) { askForCopies(of: wait) }
    }
}
