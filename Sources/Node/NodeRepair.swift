import Chat
import Replication
import Wire

/// A shard whose bad records are being set aside.
struct Repair: Sendable {
    var bad: [DocumentKey]
    /// What it becomes once the disk has dropped them; nil before that is handed to the disk.
    var header: ReplicaHeader?
}

/// A record whose checksum is wrong is never shown, merged or sent. It is set aside: the shard
/// becomes what its other documents make up, not complete, and the co-owners bring back the rest.
extension Node {
    /// A shard's header is not what was written, or not what its documents add up to.
    func onBadHeader(of shard: ShardID) {
        ports.host.log(.error, "header damaged, counting anew shard=\(shard)")
        onBadRecords([], in: shard)
    }

    /// A read of the disk found damage: documents, or rows by which documents are found.
    func onDamage(_ damage: Damage, of shard: ShardID) {
        if damage.documents.isEmpty {
            onBadIndex(of: shard)
        } else {
            onBadRecords(damage.documents, in: shard)
        }
    }

    /// What the index leads to may not be all that the shard claims: it claims nothing until the
    /// index has been made anew from the documents.
    package func onBadIndex(of shard: ShardID) {
        guard repairs[shard] == nil else { return }
        ports.host.log(.error, "index damaged, making it anew shard=\(shard)")
        onBadRecords([], in: shard)
    }

    /// Nothing that the disk says can be believed any more.
    package func onDiskFailed(_ sentence: String) { ports.host.end(.diskFailed(sentence)) }

    /// A read found records that are not what was written.
    ///
    /// Every connection to another node is given up: what was confirmed on it may be gone. None
    /// comes up before the disk has dropped the records, so that nothing is merged meanwhile.
    func onBadRecords(_ bad: [DocumentKey], in shard: ShardID) {
        for key in bad {
            ports.host.log(
                .error,
                "record damaged, set aside shard=\(shard) partition=\(key.partition) id=\(key.id)")
        }
        // What the disk is told to drop goes, bad or not: the owners have all of it.
        let isDropping = self.shard(shard)?.assumeIsolated { $0.isDropping } ?? true
        guard !isDropping, repairs[shard]?.header == nil else { return }
        repairs[shard, default: Repair(bad: [])].bad += bad
        if let held = self.shard(shard) { within(held) { $0.suspend() } }
        for link in links.ascending {
            link.channel.close()
            forget(link.channel.id)
        }
        ports.host.turnAgain()
    }

    /// The writes by which the disk drops the bad records of those shards that have nothing under
    /// way.
    func setAsideBadRecords() -> [ShardWrite] {
        var writes: [ShardWrite] = []
        for id in repairs.keys.sorted() {
            guard let repair = repairs[id], repair.header == nil,
                let shard = shard(id), shard.assumeIsolated({ $0.isSettled })
            else { continue }
            do throws(StoreFailure) {
                let rest = try ports.store.remainder(of: id, without: repair.bad)
                let bad = repair.bad + rest.bad
                let stored = shard.assumeIsolated { $0.stored }
                // Where every document is there, what they were counted as still holds.
                var header = bad.isEmpty && stored.isRemaining(rest.header) ? stored : rest.header
                // The clock of the next process starts behind every stamp of this one.
                header.raise(to: shard.assumeIsolated { $0.stored.greatest }, at: wallTime)
                repairs[id]?.header = header
                if scrub.phase != .resting { scrub.scrubber.noteSetAside(rest.bad.count) }
                writes.append(
                    ShardWrite(
                        shard: id, header: header, records: [], removed: bad,
                        isReindexed: true))
            } catch {
                ports.host.end(.diskFailed("shard \(id) cannot be read: \(error)"))
            }
        }
        return writes
    }

    /// The disk has dropped a shard's bad records, if that was what it was doing.
    func finishRepair(of shard: Shard) {
        guard let header = repairs[shard.id]?.header else { return }
        repairs[shard.id] = nil
        let slots = within(shard) { $0.onSetAside(header) }
        observe(header.greatest)
        forgetReplica(of: shard.id)
        fail(slots, of: shard.id, because: .failed("a damaged record was set aside; ask again"))
        ports.host.log(.info, "shard counted anew shard=\(shard.id) documents=\(header.documents)")
    }

    /// A commit failed: what was to drop bad records has to be handed out again.
    func restartRepairs() {
        for id in repairs.keys { repairs[id]?.header = nil }
    }
}
