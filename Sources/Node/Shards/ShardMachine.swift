import CRDT
import Chat
import Replication
import StorePort
import Wire

/// The inputs of a shard for each event: time, random bits, and the documents on disk.
package struct ShardWorld {
    package let milliseconds: UInt64
    package let judge: Judge
    package let entropy: any Entropy
    package let reader: any DocumentReader

    package init(
        milliseconds: UInt64, judge: Judge, entropy: any Entropy, reader: any DocumentReader
    ) {
        self.milliseconds = milliseconds
        self.judge = judge
        self.entropy = entropy
        self.reader = reader
    }
}

/// The state machine of one shard on one node: it connects the documents and their rules with the
/// replication to the co-owners.
///
/// The type does no I/O: the actor `Shard` executes its decisions. The changes of a turn are
/// collected and then returned together: by `takeWrite` for the disk, by `takeOutbox` for
/// co-owners.
package struct ShardMachine: Sendable {
    /// The result of an accepted mutation.
    package struct Accepted: Hashable, Sendable {
        /// The changed document; nil if nothing had to change and the document does not exist.
        package let document: Document?
        package let receipt: Receipt
        /// The documents of the message's files that were changed with the message.
        package var files: [Document] = []
    }

    package internal(set) var replica: ShardReplica
    var documents = ShardDocuments()
    var counts: ShardCounts
    let shardCount: UInt16
    var damage: Damage?
    /// Whether only deletions are merged, because the disk is full.
    var isDiskFull = false
    /// The shard's clock, which is later than every time in the documents, except times too far
    /// ahead.
    var clock: HybridClock
    /// Changes on disk that have not been reported to watchers yet, in order.
    var committed: [DocumentChange] = []
    /// When the changes in `committed` were stored, and how many at each time; oldest first.
    var committedAt: [(milliseconds: UInt64, count: Int)] = []
    /// The position of the live feeds: the changes in this vector have been reported to the
    /// receivers, or were stored before any existed.
    var feedPosition: Vector
    /// The effects of this turn's changes on sign-ins; nil for none.
    var tokenNews: TokenNews?
    /// The number of messages in a page of messages that arrived before their conversation's
    /// document.
    let earlierMessagesMax: Int
    /// Documents with changes accepted in this turn and not yet sent to the co-owners; each once.
    private var accepted: [DocumentKey] = []
    /// The files that merged documents of the present frame concern, possibly with repeats.
    var filesToSettle: [DocumentKey] = []
    var filesToPurge = FilesToPurge()
    /// The changes that rules have made in this turn.
    var derived: [DerivedChange] = []
    /// For documents that changed several times in this turn, the changes before the last change.
    private var superseded: [DocumentKey: Vector] = [:]

    package init(
        _ shard: ShardID, of shardCount: UInt16, stored: ReplicaHeader, ownership: Ownership,
        life: UInt64, now: UInt64, fanOutBits: Int = CountedRun.fanOutBits,
        restRangesMax: Int = VectorBase.restRangesMax,
        earlierMessagesMax: Int = ShardMachine.earlierMessagesMax,
        causePatienceMilliseconds: UInt64 = Causes.patienceMillisecondsDefault
    ) {
        self.earlierMessagesMax = earlierMessagesMax
        self.shardCount = shardCount
        counts = ShardCounts(fanOutBits: fanOutBits)
        feedPosition = stored.vector
        replica = ShardReplica(
            shard, stored: stored, ownership: ownership, life: life, now: now,
            restRangesMax: restRangesMax, causePatienceMilliseconds: causePatienceMilliseconds)
        clock = HybridClock(startingAfter: stored.greatest)
    }
}

// MARK: Mutations

extension ShardMachine {
    /// Executes an operation, or throws the reason why it is not executed.
    ///
    /// - Parameters:
    ///   - slot: the reply that waits until the operation is stored; nil if no reply waits.
    ///   - attempt: whether the operation may have been executed before.
    package mutating func submit(
        _ operation: Operation, for slot: ReplySlot?, level: AckLevel,
        attempt: PeerRequest.Attempt = .first, in world: ShardWorld
    ) throws(ShardFailure) -> Accepted {
        guard replica.mayAnswer else { throw .notReady }
        let mutation = operation.mutation
        if attempt == .client { try checkTime(of: operation, in: world) }
        let conversation = try mutation.conversation.flatMap { id throws(ShardFailure) in
            try find(.conversation(id), in: world)
        }
        let target = attempt == .minted ? nil : try target(of: mutation, in: world)
        let key = target?.document.key ?? mutation.key
        let isUnreadable =
            conversation?.document.isUnreadable ?? false
            || target?.document.isUnreadable ?? false
        guard !isUnreadable else { throw .unsupported }
        let chat = conversation?.document.conversation
        let files = try files(besides: target?.document, of: mutation, in: world)
        let reached = try position(reachedBy: operation, attempt, in: chat, world)
        let effect = try judge(
            operation, attempt, conversation: chat, target: target?.document, reached: reached,
            files: files.map { $0.found?.document.file }, in: world)
        let isChange = effect == .change
        var findings = ParticipantFindings()
        var unread: Int?
        if mutation.action.marking != nil {
            findings.mark = reached.flatMap { chat?.mark(of: mutation.user, at: $0) }
            unread = try self.unread(
                after: isChange ? mutation : nil, of: operation, reached, in: chat,
                target?.document.participantState, world)
        }
        guard isChange else {
            let context = (target ?? conversation)?.document.changedBy ?? Context()
            wait(slot, storing: context, level: level, in: world)
            var receipt = Receipt(
                of: operation, document: target?.document, context: context, unread: unread,
                isRepeated: true)
            if attempt == .client {
                receipt.changedAt = effect.time(of: operation, orElse: receipt.changedAt)
            }
            return Accepted(document: target?.document, receipt: receipt)
        }
        if mutation.action.hides {
            findings.hidden = Hidden(
                invitation: chat?.invitation(of: mutation.user),
                vector: try vectorToHide(by: operation, attempt, in: world))
        }
        try checkSize(of: mutation, over: target, hiding: findings.hidden)
        let (document, dot, changed) = write(
            operation, at: key, with: findings, over: target, changing: files, in: world)
        // A new document results from a single change, and its own context names that change alone.
        let context = target == nil ? document.changedBy : Context(dot)
        wait(slot, storing: context, level: level, in: world)
        return Accepted(
            document: document,
            receipt: Receipt(
                of: operation, document: document, context: context, unread: unread,
                isRepeated: false),
            files: changed)
    }

    /// Counts the messages that remain unread after a mark, before the mark is written, so that a
    /// failing read changes nothing.
    ///
    /// - Parameter write: the mark that will be written; nil if there is nothing to write.
    /// - Returns: the number of unread messages; nil without a conversation.
    private mutating func unread(
        after write: Mutation?, of operation: Operation, _ reached: HistoryPosition?,
        in chat: Conversation?, _ participantState: ParticipantState?, _ world: ShardWorld
    ) throws(ShardFailure) -> Int? {
        guard let chat, let id = operation.mutation.conversation else { return nil }
        let user = operation.mutation.user
        var read = chat.readPosition(of: user, in: participantState)
        if write?.marksRead ?? false { read = reached }
        let hidden = chat.hiddenVector(of: user, in: participantState)
        return try unread(
            in: id, chat, of: user, readTo: read, hiding: hidden, without: operation.senders,
            in: world)
    }

    mutating func write(
        _ operation: Operation, at key: DocumentKey, with findings: ParticipantFindings,
        over target: ShardDocuments.Found?, in world: ShardWorld
    ) -> (Document, Dot) {
        let dot = replica.nextDot { world.entropy.nextID() }
        let latest = replica.current.latest
        if let target, documents.isHandedOutLater(key), accepted.contains(key) {
            supersede(target, by: dot)
        } else {
            accepted.append(key)
        }
        let stamp = stamp(of: operation, executedAs: dot, over: target?.document, in: world)
        let author = Authorship(
            dot: dot, stamp: stamp, unsettled: operation.unsettled.counters)
        let document = operation.mutation.applied(
            to: target?.document, with: findings, by: author)
        clock.observe(world.judge.wall)
        clock.observe(document.greatestTime, at: world.judge.wall)
        noteTokens(document, replacing: target?.document)
        let isNewest = target == nil && document.historyTime > latest
        replica.noteWrite(put(document, replacing: target), by: dot)
        count(document, replacing: target?.document, isNewest: isNewest, in: world)
        if key.kind == .file, document.file?.isDue == true {
            filesToPurge.append(key, at: world.milliseconds)
        }
        return (document, dot)
    }

    /// The size up to which a document is sent to the co-owners after each of its changes within a
    /// turn, in bytes (16 KiB).
    ///
    /// Watchers on other nodes then receive each change of a document up to this size. A larger
    /// document is sent once a turn, so that many small changes cost no more than one change;
    /// watchers on other nodes receive the combined change.
    private static let sentEachTimeBytesMax = 16 << 10

    /// Handles a further change of a document whose last change has not been sent to the co-owners
    /// yet.
    ///
    /// A document names only the last seq of each replica id. So that the co-owners receive the seq
    /// of the earlier change, the document is pushed before the further change, or the seq is sent
    /// separately.
    private mutating func supersede(_ target: ShardDocuments.Found, by dot: Dot) {
        let key = target.document.key
        guard target.size > ShardMachine.sentEachTimeBytesMax else {
            pushAccepted()
            accepted.append(key)
            return
        }
        let last = target.document.changedBy.seq(of: dot.replica)
        superseded[key, default: Vector()].insert(Dot(replica: dot.replica, seq: last))
    }

    private mutating func wait(
        _ slot: ReplySlot?, storing context: Context, level: AckLevel, in world: ShardWorld
    ) {
        guard let slot else { return }
        replica.wait(slot, storing: context, level: level, now: world.milliseconds)
    }

    /// - Parameter document: a document; the clock has observed all of its times.
    private mutating func put(
        _ document: Document, replacing old: ShardDocuments.Found?
    ) -> Change {
        put(document, as: document.encodedWithDigest, replacing: old)
    }

    private mutating func put(
        _ document: Document, as encoded: (bytes: [UInt8], digest: Hash128),
        replacing old: ShardDocuments.Found?
    ) -> Change {
        let digest = encoded.digest
        documents.put(document, bytes: encoded.bytes, digest: digest, replacing: old)
        return Change(
            kind: document.key.kind.number, before: old?.digest, after: digest,
            greatest: clock.greatest, latest: document.greatestTime)
    }

    mutating func find(
        _ key: DocumentKey, in world: ShardWorld
    ) throws(ShardFailure) -> ShardDocuments.Found? {
        do {
            return try documents.find(key, in: replica.shard, reader: world.reader)
        } catch {
            recordDamage(error)
            throw .store(error)
        }
    }

    /// The greatest time that the shard's clock has observed.
    package var greatestTime: HybridTimestamp { clock.greatest }
}

// MARK: Turns

extension ShardMachine {
    /// Handles a frame of another node, and merges the documents in it.
    ///
    /// - Throws: `badFrame` if a document in the frame is invalid; the other documents are merged.
    package mutating func receive(
        _ frame: Frame, from peer: NodeName, in world: ShardWorld
    ) throws(ShardFailure) {
        var failure: ShardFailure?
        for encodedDocument in replica.receive(frame, from: peer, now: world.milliseconds) {
            do throws(ShardFailure) {
                try merge(encodedDocument, from: peer, in: world)
            } catch {
                // The other documents of the frame are valid, but a pull that contains the frame is
                // incomplete.
                replica.onMergeFailed(from: peer, now: world.milliseconds)
                failure = failure ?? error
            }
        }
        try settleFiles(in: world)
        if let failure { throw failure }
    }

    /// Handles a frame of a co-owner that cannot be decoded or is invalid.
    ///
    /// - Returns: how long this node sends no pull to the co-owner, in milliseconds.
    mutating func onBadFrame(from peer: NodeName, now: UInt64) -> UInt64 {
        replica.onBadFrame(from: peer, now: now)
    }

    private mutating func merge(
        _ encodedDocument: EncodedDocument, from peer: NodeName, in world: ShardWorld
    ) throws(ShardFailure) {
        let theirs = try judgedAgain(decode(encodedDocument), in: world)
        var isKept = false
        defer {
            if !isKept {
                replica.noteNotKept(
                    theirs.changedBy, superseding: encodedDocument.superseded, of: peer,
                    now: world.milliseconds)
            }
        }
        isKept = try keep(theirs, of: encodedDocument, from: peer, in: world)
    }

    /// Merges a received document with this node's document.
    ///
    /// - Returns: false if the disk is full.
    private mutating func keep(
        _ theirs: Document, of encodedDocument: EncodedDocument, from peer: NodeName,
        in world: ShardWorld
    ) throws(ShardFailure) -> Bool {
        try checkSize(of: encodedDocument, theirs)
        let old = try find(theirs.key, in: world)
        guard !isDiskFull || theirs.deletes(over: old?.document) else {
            // A pull that contains the document is incomplete; a later pull fetches the document
            // once the disk has space.
            replica.onMergeFailed(from: peer, now: world.milliseconds)
            return false
        }
        var document = theirs
        if var mine = old?.document {
            mine.merge(theirs)
            document = mine
        }
        let isNewest = old == nil && document.historyTime > replica.current.latest
        var change: Change?
        if document != old?.document {
            let encoded = document.encodedWithDigest
            guard encoded.bytes.count <= Document.bytesMax else {
                throw .badFrame(
                    .tooLong(count: UInt64(encoded.bytes.count), limit: Document.bytesMax))
            }
            clock.observe(document.greatestTime, at: world.judge.wall)
            change = put(document, as: encoded, replacing: old)
            noteTokens(document, replacing: old?.document)
            if encoded.bytes != encodedDocument.bytes { documents.noteCrossed(theirs) }
            count(document, replacing: old?.document, isNewest: isNewest, in: world)
        }
        #if PlantedBugs
            if PlantedBug.indexNotUpdatedOnMerge.isOn { documents.keepIndexKeys(of: theirs.key) }
        #endif
        // The seqs of a message's sendings show whether the message has arrived, so they are added
        // to the vector.
        var superseded = encodedDocument.superseded
        for dot in theirs.sendingsReplaced where !replica.current.vector.contains(dot) {
            superseded.insert(dot)
        }
        replica.noteMerge(change, naming: theirs.changedBy, superseding: superseded, from: peer)
        if change != nil { try noteFiles(of: document, replacing: old?.document, in: world) }
        return true
    }

    /// Returns the document unchanged: only the node that accepts a change applies rules to the
    /// change.
    private mutating func judgedAgain(
        _ document: Document, in world: ShardWorld
    ) throws(ShardFailure) -> Document {
        #if PlantedBugs
            if PlantedBug.ruleJudgedAtMerge.isOn {
                let key = DocumentKey(
                    checked: .conversation, partition: document.key.partition, id: "")
                let chat = try find(key, in: world)?.document.conversation
                return document.judgedAgain(by: world.judge, in: chat)
            }
        #endif
        return document
    }

    private func decode(_ encodedDocument: EncodedDocument) throws(ShardFailure) -> Document {
        do throws(WireError) {
            let key = try DocumentKey.decode(encodedDocument.key)
            guard !key.kind.isCountedRun else { throw WireError.invalid("a document") }
            guard key.shard(of: shardCount) == replica.shard else {
                throw WireError.invalid("a document of shard \(replica.shard)")
            }
            return try Document(key, decoding: encodedDocument.bytes)
        } catch {
            throw .badFrame(error)
        }
    }

    /// Removes the collected changes: returns the write for the disk, and puts frames for the
    /// co-owners into the outbox.
    ///
    /// - Parameter ticket: the number of the commit, greater than all earlier numbers.
    package mutating func takeWrite(_ ticket: UInt64) -> ShardWrite? {
        pushAccepted()
        derived = []
        guard let (header, isBaseNew) = replica.beginCommit(ticket) else { return nil }
        return ShardWrite(
            shard: replica.shard, header: header,
            base: isBaseNew ? header.base.vector.encoded : nil,
            records: documents.takeRecords(for: ticket), runs: counts.takeWrites(for: ticket))
    }

    private mutating func pushAccepted() {
        guard !accepted.isEmpty else { return }
        defer {
            accepted.removeAll(keepingCapacity: true)
            superseded = [:]
        }
        guard replica.hasPeers else { return }
        var encodedDocuments: [EncodedDocument] = []
        var size = 0
        for key in accepted {
            guard let bytes = documents.pending[key]?.bytes else { continue }
            let encodedDocument = EncodedDocument(
                key: key.encoded, bytes: bytes, superseded: superseded[key] ?? Vector())
            if size + encodedDocument.size > Scan.batchBytesMax {
                replica.push(encodedDocuments)
                encodedDocuments = []
                size = 0
            }
            encodedDocuments.append(encodedDocument)
            size += encodedDocument.size
        }
        replica.push(encodedDocuments)
    }

    package mutating func takeOutbox() -> [(to: NodeName, frame: Frame)] { replica.takeOutbox() }

    /// Reads the next batch of a peer's pull from disk and puts it into the outbox.
    package mutating func serveBatch(to peer: NodeName, reader: any DocumentReader) {
        guard let scan = replica.nextScan(for: peer) else { return }
        do {
            let found = try reader.changes(
                in: replica.shard, lackedBy: scan.theirs, of: scan.ours, after: scan.cursor,
                bytesMax: Scan.batchBytesMax)
            replica.onScanned(found.encodedDocuments, next: found.next, for: peer)
        } catch {
            #if PlantedBugs
                if PlantedBug.damagedIndexReadAsEmpty.isOn, error == .badIndex {
                    return replica.onScanned([], next: nil, for: peer)
                }
            #endif
            recordDamage(error)
            replica.onScanFailed(for: peer)
        }
    }

    package mutating func onCommitted(_ ticket: UInt64, now: UInt64) -> [(ReplySlot, Stored)] {
        let stored = documents.onCommitted(ticket)
        counts.onCommitted(ticket)
        // Nearly always `committed` is empty, since events are sent at once; in this case no array
        // is copied.
        committed = committed.isEmpty ? stored : committed + stored
        if !stored.isEmpty { committedAt.append((now, stored.count)) }
        return replica.onCommitted(ticket, now: now)
    }

    /// Returns to the state on disk after a failed commit.
    ///
    /// - Returns: the slots whose replies fail.
    package mutating func onCommitFailed(now: UInt64) -> [ReplySlot] {
        documents.removeAll()
        counts.removeAll()
        accepted = []
        superseded = [:]
        filesToSettle = []
        derived = []
        return replica.onCommitFailed(now: now)
    }
}
