import Chat
import Replication
import StorePort
import Wire

/// The scrub: the node reads every document on the disk, a few at a time, and repairs damage.
///
/// A scrub that an operator has requested reads in every turn. A background scrub reads once a
/// tick, and starts again after a pause. At the end of a scrub the write log is emptied, so that no
/// file contains deleted texts.
struct Scrub: Sendable {
    enum Phase: Hashable, Sendable {
        case resting
        case walking
        /// The scrub waits while damaged documents are being set aside.
        case mending
        case emptyingLog
    }

    var phase = Phase.resting
    var scrubber = Scrubber()
    /// The replies that wait for the end of the scrub.
    var slots: [ReplySlot] = []
    var nextAt: UInt64
    /// Whether a background scrub reads in this turn.
    var isDue = false

    init(now: UInt64) { nextAt = now + Scrubber.firstMilliseconds }

    var isAsked: Bool { !slots.isEmpty }
}

extension Node {
    /// Runs one step of each maintenance task for disks, tokens and files; called at each tick.
    func tickUpkeep(now: UInt64) {
        tickScrub(now: now)
        tickCheckpoints(now: now)
        tickFiles()
        tickSigning(now: now)
    }

    /// Makes a reply wait for the end of a scrub.
    ///
    /// While a requested scrub is under way, further requests wait for the same scrub.
    package func scrub(for slot: ReplySlot) {
        if !scrub.isAsked { beginScrub() }
        scrub.slots.append(slot)
        ports.host.turnAgain()
    }

    private func beginScrub() {
        scrub.scrubber.begin(shards.map(\.id), now: ports.clock.milliseconds)
        scrub.phase = .walking
    }

    /// Starts a background scrub when one is due, and makes it read once a tick.
    func tickScrub(now: UInt64) {
        if scrub.phase == .resting, now >= scrub.nextAt, cluster != nil { beginScrub() }
        scrub.isDue = true
    }

    /// Continues the scrub at the end of each turn, after the turn's changes have been collected.
    ///
    /// - Returns: the writes of documents that an index did not lead to.
    func continueScrub() -> [ShardWrite] {
        if isEnding, scrub.isAsked { settleScrub(.refused(.stopping)) }
        guard scrub.phase != .resting, scrub.isAsked || scrub.isDue else { return [] }
        scrub.isDue = false
        switch scrub.phase {
        case .resting, .emptyingLog: return []
        case .walking:
            let isAsked = scrub.isAsked
            let writes = readOn(
                rowsMax: isAsked ? Scrubber.rowsPerTurn : Scrubber.rowsPerTick)
            if !scrub.scrubber.isWalking { scrub.phase = .mending }
            if isAsked { ports.host.turnAgain() }
            return writes
        case .mending:
            guard repairs.isEmpty else { return [] }
            scrub.phase = .emptyingLog
            ports.store.emptyLog()
            return []
        }
    }

    private func readOn(rowsMax: Int) -> [ShardWrite] {
        guard let id = scrub.scrubber.shard else { return [] }
        guard let shard = shard(id), repairs[id] == nil, !shard.assumeIsolated({ $0.isDropping })
        else {
            scrub.scrubber.skip()
            return []
        }
        let (isSettled, stored) = shard.assumeIsolated { ($0.isSettled, $0.stored) }
        guard scrub.scrubber.takesTurn(isSettled: isSettled, stored: stored) else { return [] }
        do throws(StoreFailure) {
            let part = try ports.store.check(id, after: scrub.scrubber.mark, rowsMax: rowsMax)
            switch scrub.scrubber.onRead(part, isSettled: isSettled, stored: stored) {
            case .goOn, .whole: break
            case .miscounted(let id): onBadHeader(of: id)
            }
            if !part.bad.isEmpty { onBadRecords(part.bad, in: id) }
            guard isSettled, part.bad.isEmpty, !part.unindexed.isEmpty else { return [] }
            return [rewrite(part, of: id, stored)]
        } catch {
            ports.host.log(.error, "shard not checked shard=\(id): \(error)")
            scrub.scrubber.skip()
            return []
        }
    }

    /// Returns the write that puts documents back into the indexes.
    private func rewrite(_ part: CheckedPart, of id: ShardID, _ stored: ReplicaHeader) -> ShardWrite
    {
        for record in part.unindexed {
            ports.host.log(
                .error,
                "index damaged; it was written again shard=\(id) partition=\(record.key.partition) "
                    + "id=\(record.key.id)")
        }
        scrub.scrubber.noteIndexed(part.unindexed.count)
        if part.unindexed.contains(where: { $0.key.kind == .blocks }), let shard = shard(id) {
            shard.assumeIsolated { $0.noteBlocks() }
        }
        return ShardWrite(shard: id, header: stored, records: part.unindexed)
    }

    /// Ends the scrub after the log was emptied, or after that failed.
    package func onLogEmptied(failure: String?) {
        pressure.onLogEmptied()
        guard scrub.phase == .emptyingLog else { return }
        let now = ports.clock.milliseconds
        let report = scrub.scrubber.report(now: now)
        scrub.phase = .resting
        scrub.nextAt = now + Scrubber.restMilliseconds
        ports.host.log(
            .info,
            "scrubbed checked=\(report.checked) bad=\(report.bad) indexes=\(report.unindexed) "
                + "miscounted=\(report.miscounted) busy=\(report.busy)")
        settleScrub(failure.map { .refused(.logKept($0)) } ?? .scrubbed(report))
    }

    private func settleScrub(_ outcome: ReplyResult) {
        let slots = scrub.slots
        scrub.slots = []
        for slot in slots { sinks[slot.session]?.onSettled(slot.number, outcome) }
    }
}
