import CRDT
import Membership
import Replication
import Wire

/// A reply that waits for copies.
struct CopiesWait: Sendable {
    let slot: ReplySlot
    let writes: [ShardID: Vector]
    let copies: Int
    let deadline: UInt64
    /// On how many owners the writes to shards that are not held here are, as those said.
    var counted: [ShardID: Int] = [:]

    func isOver(with copies: Int, now: UInt64) -> Bool { copies >= self.copies || now >= deadline }
}

/// A question for the copies of a shard that is not held here.
struct CopiesCall: Sendable {
    /// The reply that waits.
    let slot: ReplySlot
    let shard: ShardID
    let sentAt: UInt64

    /// How long it may take, in milliseconds.
    static let patienceMilliseconds: UInt64 = 1_000
    /// The most of them: more waits are counted later.
    static let countMax = 8_192
}

extension Node {
    /// Has a reply wait until these writes are stored on so many owners.
    package func wait(
        _ slot: ReplySlot, for writes: [ShardID: Vector], copies: Int, until deadline: UInt64
    ) {
        let wait = CopiesWait(slot: slot, writes: writes, copies: copies, deadline: deadline)
        waits.append(wait)
        askForCopies(of: wait)
        ports.host.turnAgain()
    }

    /// The process ends: nobody waits for copies any longer.
    package func stopWaiting() { isEnding = true }

    /// On how many owners all that a reply waits for is stored.
    private func copies(of wait: CopiesWait) -> Int {
        wait.writes.map { id, vector in
            shard(id)?.assumeIsolated { $0.copies(of: vector) } ?? wait.counted[id] ?? 0
        }.min() ?? membership.table.entries.count
    }

    func settleWaits() {
        guard !waits.isEmpty else { return }
        let now = isEnding ? .max : ports.clock.milliseconds
        let judged = waits.map { wait in (wait, copies: copies(of: wait)) }
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

    // MARK: Shards that others hold

    private func askForCopies(of wait: CopiesWait) {
        for id in wait.writes.keys.sorted() where shard(id) == nil {
            guard wait.counted[id] ?? 0 < wait.copies, let vector = wait.writes[id],
                copyCalls.count < CopiesCall.countMax, case .member(let name) = route(of: id)
            else { continue }
            let number = takeCallNumber()
            let isSent = ask(
                name, .copies(id, vector), as: number, within: CopiesCall.patienceMilliseconds)
            guard isSent else { continue }
            copyCalls[number] = CopiesCall(
                slot: wait.slot, shard: id, sentAt: ports.clock.milliseconds)
        }
    }

    func onCounted(_ told: PeerResponse, _ asked: CopiesCall) {
        copyCalls[told.number] = nil
        guard case .copies(let count) = told.outcome,
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
