import CRDT
import Membership
import Replication
import Wire

/// A `WAIT` or a `TOKEN`: a reply that waits until changes are stored on enough owners.
struct CopiesWait: Sendable {
    let slot: ReplySlot
    let writes: [ShardID: Vector]
    let copies: Int
    let deadline: UInt64
    /// Whether it waits for no more than a majority, and not where none lives.
    var isOfToken = false
    /// For shards not held here, the number of owners that have the writes, as other members
    /// counted.
    var counted: [ShardID: Int] = [:]

    func isOver(with copies: Int, now: UInt64) -> Bool { copies >= self.copies || now >= deadline }

    /// How long a token may wait for co-owners, in milliseconds: as long as an `OK`.
    static let tokenPatienceMilliseconds: UInt64 = 1_000
    /// How long a member counts for a token of another node, in milliseconds: it is asked again
    /// then.
    static let memberPatienceMilliseconds: UInt64 = 400
    /// The most waits for members' tokens; beyond it they are answered at once.
    static let countMax = 16_384
}

/// A call that asks a member on how many owners the writes to a shard are stored.
struct CopiesCall: Sendable {
    /// The reply that waits.
    let slot: ReplySlot
    let shard: ShardID
    let sentAt: UInt64

    /// How long the call may take, in milliseconds.
    static let patienceMilliseconds: UInt64 = 1_000
    /// The most outstanding calls; further ones are made later.
    static let countMax = 8_192
}

extension Node {
    /// Has a reply wait until these writes are stored on that many owners.
    package func wait(
        _ slot: ReplySlot, for writes: [ShardID: Vector], copies: Int, until deadline: UInt64
    ) {
        begin(CopiesWait(slot: slot, writes: writes, copies: copies, deadline: deadline))
    }

    /// Has a reply wait until these changes are on a majority of the owners, where they are not.
    ///
    /// - Parameter others: the shards of other nodes of which some changes may not be.
    /// - Returns: whether the reply waits.
    package func awaitMajority(
        _ slot: ReplySlot, of seen: [(shard: ShardID, vector: Vector)],
        elsewhere others: Set<ShardID>
    ) -> Bool {
        let waiting = seen.filter { id, vector in
            shard(id)?.assumeIsolated { $0.awaitsMajority(vector) } ?? others.contains(id)
        }
        guard !waiting.isEmpty, let owners = owners.first else { return false }
        begin(
            CopiesWait(
                slot: slot, writes: Dictionary(uniqueKeysWithValues: waiting.map { ($0, $1) }),
                copies: owners.count / 2 + 1,
                deadline: ports.clock.milliseconds + CopiesWait.tokenPatienceMilliseconds,
                isOfToken: true))
        return true
    }

    /// Answers a member that asks how many owners have the changes that a token is to stand for.
    func count(_ vector: Vector, of shard: Shard, forTokenAt slot: ReplySlot) {
        let copies = shard.assumeIsolated { $0.copies(of: vector) }
        guard waits.count < CopiesWait.countMax,
            shard.assumeIsolated({ $0.awaitsMajority(vector) }), let owners = owners.first
        else {
            sendResponse(.copies(copies), to: slot)
            return
        }
        begin(
            CopiesWait(
                slot: slot, writes: [shard.id: vector], copies: owners.count / 2 + 1,
                deadline: ports.clock.milliseconds + CopiesWait.memberPatienceMilliseconds,
                isOfToken: true))
    }

    private func begin(_ wait: CopiesWait) {
        waits.append(wait)
        askForCopies(of: wait)
        check(wait, isAgain: false)
        ports.host.turnAgain()
    }

    /// Has owners of the shards that are held here confirm what a token is to stand for.
    private func check(_ wait: CopiesWait, isAgain: Bool) {
        guard wait.isOfToken else { return }
        for (id, vector) in wait.writes {
            guard let shard = shard(id), shard.assumeIsolated({ $0.awaitsMajority(vector) })
            else { continue }
            within(shard) { $0.check(vector, isAgain: isAgain) }
        }
    }

    /// Ends all waits, because the process ends.
    package func stopWaiting() { isEnding = true }

    /// The number of owners that have stored everything a reply waits for.
    private func copies(of wait: CopiesWait) -> Int {
        wait.writes.map { id, vector in
            shard(id)?.assumeIsolated { shard in
                guard wait.isOfToken else { return shard.copies(of: vector) }
                return shard.awaitsMajority(vector) ? 0 : wait.copies
            } ?? wait.counted[id] ?? 0
        }.min() ?? owners.first?.count ?? 0
    }

    func settleWaits() {
        guard !waits.isEmpty else { return }
        let now = isEnding ? .max : ports.clock.milliseconds
        let judged = waits.map { wait in (wait, copies: copies(of: wait)) }
        waits = []
        // A session may wait again as soon as it is told, so the list is completed first.
        for (wait, copies) in judged where !wait.isOver(with: copies, now: now) {
            waits.append(wait)
        }
        for (wait, copies) in judged where wait.isOver(with: copies, now: now) {
            guard !wait.slot.isOfMember else {
                sendResponse(.copies(copies), to: wait.slot)
                continue
            }
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
                name, .copies(id, vector, forToken: wait.isOfToken), as: number,
                within: CopiesCall.patienceMilliseconds)
            guard isSent else { continue }
            copyCalls[number] = CopiesCall(
                slot: wait.slot, shard: id, sentAt: ports.clock.milliseconds)
        }
    }

    func onCounted(_ response: PeerResponse, _ asked: CopiesCall) {
        copyCalls[response.number] = nil
        guard case .copies(let count) = response.outcome,
            let index = waits.firstIndex(where: { $0.slot == asked.slot })
        else { return }
        waits[index].counted[asked.shard] = count
    }

    func tickWaits(now: UInt64) {
        guard !waits.isEmpty || !copyCalls.isEmpty else { return }
        copyCalls = copyCalls.filter { now < $1.sentAt + CopiesCall.patienceMilliseconds }
        let asked = Set(copyCalls.values.map(\.slot))
        for wait in waits {
            if !asked.contains(wait.slot) { askForCopies(of: wait) }
            check(wait, isAgain: true)
        }
    }
}
