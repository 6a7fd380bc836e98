import Chat
import Replication
import StorePort
import Wire

/// A shard whose bad records are being set aside.
struct Repair: Sendable {
    var bad: [DocumentKey]
    /// The header without the bad records; nil until their removal is handed to the disk.
    var header: ReplicaHeader?
}

/// The repair of shards with damaged records.
///
/// A record whose checksum is wrong is never shown, merged or sent. It is set aside: the shard's
/// replica becomes what the other documents make up, is not complete, and gets the rest from the
/// co-owners.
extension Node {
    /// Handles a shard header that is damaged or does not match the shard's documents.
    func onBadHeader(of shard: ShardID) {
        ports.host.log(.error, "header damaged; it is recomputed from the documents shard=\(shard)")
        onBadRecords([], in: shard)
    }

    /// Handles damage that a read found: bad documents, or bad rows of an index.
    func onDamage(_ damage: Damage, of shard: ShardID) {
        if damage.documents.isEmpty {
            onBadIndex(of: shard)
        } else {
            onBadRecords(damage.documents, in: shard)
        }
    }

    /// Handles a bad index.
    ///
    /// It may not lead to all documents that the header counts, so the shard is suspended until the
    /// index has been made anew from the documents.
    package func onBadIndex(of shard: ShardID) {
        guard repairs[shard] == nil else { return }
        ports.host.log(.error, "index damaged; it is rebuilt shard=\(shard)")
        onBadRecords([], in: shard)
    }

    /// Ends the process, because nothing that the disk says can be believed any more.
    package func onDiskFailed(_ sentence: String) { ports.host.end(.diskFailed(sentence)) }

    /// Begins to set bad records aside.
    ///
    /// All connections to other nodes are closed, because changes confirmed on them may be gone.
    /// None is accepted before the disk has dropped the records, so that nothing is merged
    /// meanwhile.
    func onBadRecords(_ bad: [DocumentKey], in shard: ShardID) {
        for key in bad {
            ports.host.log(
                .error,
                "record damaged, set aside shard=\(shard) partition=\(key.partition) id=\(key.id)")
        }
        // A shard that is being dropped goes with its bad records: the owners have all of it.
        let isDropping = self.shard(shard)?.assumeIsolated { $0.isDropping } ?? true
        guard !isDropping, repairs[shard]?.header == nil else { return }
        repairs[shard, default: Repair(bad: [])].bad += bad
        if let held = self.shard(shard) { within(held) { $0.suspend() } }
        for link in links.ascending {
            link.channel.close()
            removeChannel(link.channel.id)
        }
        ports.host.turnAgain()
    }

    /// Returns the writes by which the disk drops the bad records, of the shards that have no
    /// commit under way.
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
                // If every document is there, the stored header still holds.
                var header = bad.isEmpty && stored.isRemaining(rest.header) ? stored : rest.header
                // The next process starts its clock behind every stamp of this one.
                header.raise(to: shard.assumeIsolated { $0.stored.greatest }, at: wallTime)
                repairs[id]?.header = header
                forgetHeldNames(of: id)
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

    /// Ends the repair of a shard after a commit, if that dropped the bad records.
    func finishRepair(of shard: Shard) {
        guard let header = repairs[shard.id]?.header else { return }
        repairs[shard.id] = nil
        let slots = within(shard) { $0.onSetAside(header) }
        observe(header.greatest)
        forgetReplica(of: shard.id)
        fail(slots, of: shard.id, because: .failed("a damaged record was set aside; ask again"))
        ports.host.log(.info, "shard counted anew shard=\(shard.id) documents=\(header.documents)")
    }

    /// Has the bad records dropped again after a failed commit.
    func restartRepairs() {
        for id in repairs.keys { repairs[id]?.header = nil }
    }
}
