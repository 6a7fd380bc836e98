import Chat
import Replication
import StorePort
import Wire

/// The repair of one shard, while its bad records are being set aside.
struct Repair: Sendable {
    var bad: [DocumentKey]
    /// The header without the bad records; nil until their removal is passed to the disk.
    var header: ReplicaHeader?
}

/// The repair of shards with damaged records.
///
/// A record whose checksum is wrong is never shown, merged or sent. The node sets the record aside:
/// the shard's replica becomes the state made up by the other documents, is marked as incomplete,
/// and gets the missing changes from the co-owners.
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
    /// A bad index may lead to fewer documents than the header counts. Therefore the shard is
    /// suspended until the index has been rebuilt from the documents.
    package func onBadIndex(of shard: ShardID) {
        guard repairs[shard] == nil else { return }
        ports.host.log(.error, "index damaged; it is rebuilt shard=\(shard)")
        onBadRecords([], in: shard)
    }

    /// Ends the process, because nothing read from the disk can be trusted any more.
    package func onDiskFailed(_ sentence: String) { ports.host.end(.diskFailed(sentence)) }

    /// Starts to set bad records aside.
    ///
    /// All connections to other nodes are closed, because changes confirmed on them may be lost. No
    /// connection is accepted before the disk has dropped the records, so that nothing is merged.
    func onBadRecords(_ bad: [DocumentKey], in shard: ShardID) {
        for key in bad {
            ports.host.log(
                .error,
                "record damaged, set aside shard=\(shard) partition=\(key.partition) id=\(key.id)")
        }
        // A shard that is being dropped is deleted together with its bad records, because the
        // owners have all of its changes.
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

    /// Returns the writes that drop the bad records, for the shards without a commit under way.
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
                // If no document is missing, the stored header is still valid.
                var header = bad.isEmpty && stored.isRemaining(rest.header) ? stored : rest.header
                // The next process starts its clock after every stamp of this process.
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

    /// Ends the repair of a shard after a commit that dropped the bad records.
    func finishRepair(of shard: Shard) {
        guard let header = repairs[shard.id]?.header else { return }
        repairs[shard.id] = nil
        let slots = within(shard) { $0.onSetAside(header) }
        observe(header.greatest)
        forgetReplica(of: shard.id)
        fail(slots, of: shard.id, because: .failed("a damaged record was set aside; ask again"))
        ports.host.log(.info, "shard counted anew shard=\(shard.id) documents=\(header.documents)")
    }

    /// Makes the repairs drop the bad records again, after a failed commit.
    func restartRepairs() {
        for id in repairs.keys { repairs[id]?.header = nil }
    }
}
