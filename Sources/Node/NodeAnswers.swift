import Chat
import Replication
import Wire

/// What a request that is not answered at once came to, until its disks have it.
struct Draft: Sendable {
    let outcome: Outcome
    let since: UInt64
    /// Whether the member that asked was told that it is done here.
    var isTaken = false

    /// The most of them: who asks beyond that asks another.
    static let countMax = 131_072
    /// After how long a member that asked is told that it is done here and waits for disks, in
    /// milliseconds: before it asks another.
    static let takenMilliseconds: UInt64 = 200
}

/// Requests of other members, and replies on their way out.
extension Node {
    func onAsk(_ ask: Ask, from name: NodeName) {
        guard let link = links[name] else { return }
        let slot = ReplySlot(session: link.session, number: ask.number)
        let isLate = ports.clock.milliseconds > ask.deadline
        guard !isLate, drafts.count < Draft.countMax else { return tell(.elsewhere, to: slot) }
        switch ask.request {
        case .write(let mutation, _, _):
            answer(ask.request, in: shard(of: mutation.conversation), for: slot)
        case .read(let query, _):
            answer(ask.request, in: query.conversation.flatMap { shard(of: $0) }, for: slot)
        case .list(let query, let user, let shards):
            list(query, of: user, in: shards, for: slot)
        case .copies(let id, let vector):
            let copies = shard(id)?.assumeIsolated { $0.isReady ? $0.copies(of: vector) : nil }
            tell(copies.flatMap { $0 }.map(Told.Outcome.copies) ?? .elsewhere, to: slot)
        }
    }

    private func answer(_ request: Ask.Request, in shard: Shard?, for slot: ReplySlot) {
        guard let shard, shard.assumeIsolated({ $0.isReady || $0.isServable }) else {
            return tell(.elsewhere, to: slot)
        }
        let (outcome, isSettled) = carryOut(request, in: shard, for: slot)
        keep(outcome, isSettled, for: slot)
    }

    // MARK: Replies

    /// Says what came of a request, now or once its disks have it.
    func keep(_ outcome: Outcome, _ isSettled: Bool, for slot: ReplySlot) {
        if isSettled {
            finish(slot, outcome, nil)
        } else {
            drafts[slot] = Draft(outcome: outcome, since: ports.clock.milliseconds)
        }
    }

    /// Says what came of a request to whoever asked.
    func finish(_ slot: ReplySlot, _ outcome: Outcome, _ stored: Stored?) {
        guard slot.isOfMember else {
            sinks[slot.session]?.onSettled(slot.number, .answered(outcome, stored))
            return
        }
        switch outcome {
        case .written(let receipt, _):
            guard let stored else { preconditionFailure("a write is told once it is stored") }
            tell(.written(receipt, stored), to: slot)
        case .found(let findings, _):
            let parts = findings.split()
            for (index, part) in parts.enumerated() {
                tell(.found(part, isLast: index == parts.count - 1), to: slot)
            }
        case .failed(let failure):
            tell(.failed(failure), to: slot)
        }
    }

    func tell(_ outcome: Told.Outcome, to slot: ReplySlot) {
        guard let name = linked[slot.session & ~PeerLink.sessionBit] else { return }
        links[name]?.tell(Told(number: slot.number, outcome: outcome))
    }

    /// A shard has what a reply waited for.
    func settle(_ settled: [(ReplySlot, Stored)]) {
        for (slot, stored) in settled {
            if gatherings[slot] != nil {
                onShardSettled(slot)
            } else if let draft = drafts.removeValue(forKey: slot) {
                finish(slot, draft.outcome, stored)
            } else {
                sinks[slot.session]?.onSettled(slot.number, .stored(stored))
            }
        }
    }

    func fail(_ slots: [ReplySlot], because failure: StoreFailure) {
        for slot in slots {
            gatherings[slot] = nil
            drafts[slot] = nil
            if slot.isOfMember {
                tell(.failed(.store(failure)), to: slot)
            } else {
                sinks[slot.session]?.onSettled(slot.number, .failed(failure))
            }
        }
    }

    func tickAnswers(now: UInt64) {
        let late = drafts.filter {
            $0.isOfMember && !$1.isTaken && now >= $1.since + Draft.takenMilliseconds
        }
        for slot in late.keys.sorted(by: { ($0.session, $0.number) < ($1.session, $1.number) }) {
            drafts[slot]?.isTaken = true
            tell(.taken, to: slot)
        }
    }
}

extension ReplySlot {
    /// Whether another member waits for it, and no client of this node.
    var isOfMember: Bool { session & PeerLink.sessionBit != 0 }
}
