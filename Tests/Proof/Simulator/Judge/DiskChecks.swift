import CRDT
import Chat
import Node
import Replication
import Wire

/// The checks that are made when a commit reaches a disk: of its documents and of its header.
extension World {
    func apply(_ commit: SimDisk.Commit, on node: SimNode) throws(Violation) {
        for part in commit.parts {
            let shard = part.shard
            if part.isDrop {
                try checkDrop(of: shard, on: node)
                node.disk.state.shards[shard] = ShardDisk()
                node.droppedAt = now
                node.deletions.removeDocuments {
                    Int($0.shard(of: UInt16(plan.shards)).number) == shard
                }
                continue
            }
            var before = node.disk.state.shards[shard].claim
            if part.isReindexed { node.disk.state.shards[shard].misindexed = [] }
            for key in part.removed { node.disk.state.shards[shard].remove(key) }
            if !part.removed.isEmpty { before = ReplicaHeader(isComplete: false) }
            for record in part.records { try apply(record, to: shard, of: commit, on: node) }
            for run in part.runs { node.disk.state.shards[shard].put(run) }
            if let base = part.base { node.disk.state.shards[shard].base = base }
            let base = node.disk.state.shards[shard].base
            let header = try decoded(part.header, base: base, on: node)
            node.disk.state.shards[shard].header = part.header
            node.disk.state.shards[shard].claim = header
            try check(header, after: before, shard, at: commit.wall, on: node)
            if !part.removed.isEmpty {
                onDestroyed(node)
                node.begin(shard, with: minimum(of: node)[shard], at: milliseconds)
            }
            if header.isComplete, !before.isComplete { onCompleted(node, shard, header) }
        }
    }

    /// Lowers the minimums of the other nodes to the newly completed replica, since one of them may
    /// have completed it.
    private func onCompleted(_ node: SimNode, _ shard: Int, _ header: ReplicaHeader) {
        for other in nodes where other !== node {
            other.minimums[shard] = other.minimums[shard].intersection(header.vector)
        }
    }

    private func decoded(
        _ bytes: [UInt8], base: [UInt8]?, on node: SimNode
    ) throws(Violation) -> ReplicaHeader {
        do throws(WireError) {
            guard let header = try ReplicaHeader.read(bytes, base: base) else {
                throw .invalid("one that builds on the base beside it")
            }
            return header
        } catch {
            throw Violation(
                invariant: .badRecord, explanation: "\(node.name) stored a bad header: \(error)")
        }
    }

    private func apply(
        _ record: Record, to shard: Int, of commit: SimDisk.Commit, on node: SimNode
    ) throws(Violation) {
        func fail(_ invariant: Invariant, _ what: String) -> Violation {
            Violation(
                invariant: invariant,
                explanation: "\(node.name) stores \(record.key.partition)/\(record.key.id), \(what)"
            )
        }
        let old = node.disk.state.shards[shard].documents[record.key]
        guard record.previous?.changedBy == old?.changedBy, record.previous?.time == old?.time
        else {
            throw fail(.claims, "as if the disk held something else of it")
        }
        if let old, !record.changedBy.covers(old.changedBy) {
            throw fail(.claims, "though the disk holds changes that are not in it")
        }
        let document: Document
        do throws(WireError) {
            document = try Document(record.key, decoding: record.bytes)
        } catch {
            throw fail(.badRecord, "which does not decode: \(error)")
        }
        guard document.changedBy == record.changedBy, document.historyTime == record.time else {
            throw fail(.claims, "described as what it is not")
        }
        guard
            (record.previous?.indexKeys ?? [])
                == (old == nil ? [] : indexed(record.key, shard, node))
        else { throw fail(.index, "as if the disk found it under other words") }
        guard record.indexKeys == document.indexKeys else {
            throw fail(.index, "to be found under \(record.indexKeys), not \(document.indexKeys)")
        }
        guard document.encoded == record.bytes else { throw fail(.oneDot, "not canonically") }
        let digest = Document.digest(of: record.key, bytes: record.bytes)
        if checked.insert(digest).inserted { try Model(of: document, in: ledger).check(document) }
        // A stamp from further ahead than the clock believes does not count as seen, nor does one
        // that was on this disk before: the clock may have been set back since.
        let known = node.disk.state.shards[shard].documents[record.key]?.greatest ?? .zero
        if document.greatestTime > known, commit.wall?.believes(document.greatestTime) ?? false {
            node.disk.state.shards[shard].believe(document.greatestTime)
        }
        node.disk.state.shards[shard].put(
            ShardDisk.StoredDocument(
                bytes: record.bytes, changedBy: record.changedBy, time: record.time,
                digest: digest, greatest: document.greatestTime),
            at: record.key)
        node.disk.state.shards[shard].indexKeys[record.key] =
            record.indexKeys.isEmpty ? nil : record.indexKeys
    }

    private func indexed(_ key: DocumentKey, _ shard: Int, _ node: SimNode) -> [String] {
        node.disk.state.shards[shard].indexKeys[key] ?? []
    }

    /// Checks that the header matches the documents, and that they contain what it newly claims.
    private func check(
        _ header: ReplicaHeader, after before: ReplicaHeader, _ shard: Int, at wall: WallTime?,
        on node: SimNode
    ) throws(Violation) {
        let disk = node.disk.state.shards[shard]
        func fail(_ invariant: Invariant, _ what: String) -> Violation {
            Violation(invariant: invariant, explanation: "\(node.name), shard \(shard): \(what)")
        }
        guard header.digest == disk.digest, header.documents == UInt64(disk.keys.count) else {
            throw fail(
                .equal,
                "the header counts \(header.documents) documents of digest \(header.digest), "
                    + "the disk holds \(disk.keys.count) of \(disk.digest)")
        }
        if let wall, wall.believes(disk.believed), header.greatest < disk.believed {
            throw fail(
                .stamps,
                "a stamp on disk, \(disk.believed), is later than the greatest that it says, "
                    + "\(header.greatest), at \(wall.milliseconds) ms")
        }
        guard before.vector.subtracting(header.vector).isEmpty else {
            throw fail(.claims, "it claimed more before: \(before.vector.short)")
        }
        for dot in header.vector.subtracting(before.vector).dots {
            guard let entry = ledger[dot, shard] else {
                throw fail(.claims, "it claims \(dot.short), which nobody ever wrote")
            }
            guard disk.documents[entry.mutation.key]?.changedBy.contains(dot) == true else {
                throw fail(.claims, "it claims a change that its documents lack: \(entry.words)")
            }
        }
    }

    /// Checks all headers of a disk against its documents, and all documents against the model.
    func checkWhole(_ node: SimNode) throws(Violation) {
        for (shard, disk) in node.disk.state.shards.enumerated() {
            var digest = Hash128.zero
            for key in disk.keys {
                guard let stored = disk.documents[key] else { continue }
                digest += Document.digest(of: key, bytes: stored.bytes)
                let document: Document
                do throws(WireError) {
                    document = try Document(key, decoding: stored.bytes)
                } catch {
                    throw Violation(
                        invariant: .badRecord, explanation: "\(node.name) holds \(key): \(error)")
                }
                try Model(of: document, in: ledger).check(document)
                try checkPurged(document, stored.bytes, on: node)
                guard indexed(key, shard, node) == document.indexKeys else {
                    throw Violation(
                        invariant: .index,
                        explanation: "\(node.name) finds \(key) under "
                            + "\(indexed(key, shard, node)), not \(document.indexKeys)")
                }
            }
            if let wrong = disk.wrongRun {
                throw Violation(invariant: .index, explanation: "\(node.name): \(wrong)")
            }
            guard digest == disk.claim.digest else {
                throw Violation(
                    invariant: .equal,
                    explanation: "\(node.name), shard \(shard): the digest is not its documents'")
            }
            try check(
                disk.claim, after: ReplicaHeader(isComplete: false), shard, at: wall(of: node),
                on: node)
        }
    }

    /// Checks that the bytes of a deleted document contain none of its texts.
    private func checkPurged(
        _ document: Document, _ bytes: [UInt8], on node: SimNode
    ) throws(Violation) {
        let model = Model(of: document, in: ledger)
        let erasers = model.erasers
        let texts = ledger.entries(of: document.key).filter { erasers.contains($0.mutation.user) }
            .compactMap(\.mutation.action.text)
        guard let text = texts.first(where: { bytes.contains($0.utf8) }) else { return }
        throw Violation(
            invariant: .deleted,
            explanation: "\(node.name) holds the text '\(text)' of what is deleted for everyone")
    }
}

extension Vector {
    /// Every dot in the vector, ascending.
    var dots: [Dot] {
        entries.flatMap { entry in
            entry.seqs.ranges.flatMap { range in
                range.map { Dot(replica: entry.replica, seq: $0) }
            }
        }
    }

    var short: String {
        entries.map { "\($0.replica.description.prefix(6)):\($0.seqs.ranges)" }
            .joined(separator: " ")
    }
}
