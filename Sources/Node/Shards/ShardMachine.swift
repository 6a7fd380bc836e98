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

/// The state machine of one shard on one node: its documents and their rules on one side, its
/// replica and the co-owners on the other.
///
/// A value type without I/O: the actor `Shard` carries out its decisions. Changes are collected
/// over a turn and then handed out at once: to the disk by `takeWrite`, to the co-owners by
/// `takeOutbox`.
package struct ShardMachine: Sendable {
    /// The result of an accepted mutation.
    package struct Accepted: Hashable, Sendable {
        /// Nil if nothing had to change and there is no such document.
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
    /// The shard's clock: past every time in the documents, except times too far ahead to be
    /// believed.
    var clock: HybridClock
    /// Changes on disk that watchers have not been told of yet, in order.
    var committed: [DocumentChange] = []
    /// When the changes in `committed` were stored, and how many at each time; oldest first.
    var committedAt: [(milliseconds: UInt64, count: Int)] = []
    /// The position of the live feeds: changes in it have been told to their receivers, or were
    /// stored before there were any.
    var feedPosition: Vector
    /// What changes of this turn say of sign-ins; nil for nothing.
    var tokenNews: TokenNews?
    /// The size of a page when messages are read that arrived before their conversation's document.
    let earlierMessagesMax: Int
    /// Documents with changes accepted in this turn that the co-owners have not been sent; each
    /// once.
    private var accepted: [DocumentKey] = []
    /// The files that merged documents of the present frame concern; each maybe several times.
    var filesToSettle: [DocumentKey] = []
    var filesToPurge = FilesToPurge()
    /// The changes that rules have made in this turn.
    var derived: [DerivedChange] = []
    /// For documents that changed several times, the changes before the last.
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
    /// Executes an operation, or throws the reason why not.
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
        let isChange = try judge(
            operation, attempt, conversation: chat, target: target?.document, reached: reached,
            files: files.map { $0.found?.document.file }, in: world)
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
            return Accepted(
                document: target?.document,
                receipt: Receipt(
                    of: operation, document: target?.document, context: context, unread: unread,
                    isRepeated: true))
        }
        if mutation.action.hides {
            findings.hidden = Hidden(
                invitation: chat?.invitation(of: mutation.user), vector: replica.current.vector)
        }
        try checkSize(of: mutation, over: target, hiding: findings.hidden)
        let (document, dot, changed) = write(
            operation, at: key, with: findings, over: target, changing: files, in: world)
        // A new document is the work of one change: its own context names that change alone.
        let context = target == nil ? document.changedBy : Context(dot)
        wait(slot, storing: context, level: level, in: world)
        return Accepted(
            document: document,
            receipt: Receipt(
                of: operation, document: document, context: context, unread: unread,
                isRepeated: false),
            files: changed)
    }

    /// Counts what stays unread after a mark, before the mark is written: a failing read then
    /// changes nothing.
    ///
    /// - Parameter write: the mark that will be written; nil if there is nothing to write.
    /// - Returns: nil without a conversation.
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
    /// Watchers elsewhere are then told of each change. A larger document is sent once a turn, so
    /// that many small changes of it cost no more than one; watchers elsewhere are told what they
    /// come to.
    private static let sentEachTimeBytesMax = 16 << 10

    /// Handles a further change of a document whose last change has not been sent to the co-owners
    /// yet.
    ///
    /// A document names only the last seq of each replica. So that the co-owners do not lack the
    /// seq of the earlier change, the document is pushed as it was, or the seq is sent beside it.
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

    /// - Parameter document: a document whose times the clock has all observed.
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
    /// Merges what a co-owner's frame brings.
    ///
    /// - Throws: `badFrame` if a document in it is invalid; the others are merged all the same.
    package mutating func receive(
        _ frame: Frame, from peer: NodeName, in world: ShardWorld
    ) throws(ShardFailure) {
        var failure: ShardFailure?
        for encodedDocument in replica.receive(frame, from: peer, now: world.milliseconds) {
            do throws(ShardFailure) {
                try merge(encodedDocument, from: peer, in: world)
            } catch {
                // The other documents are good, but the pull that they may be part of is not
                // complete.
                replica.onMergeFailed(from: peer, now: world.milliseconds)
                failure = failure ?? error
            }
        }
        try settleFiles(in: world)
        if let failure { throw failure }
    }

    /// Handles a frame of a co-owner that cannot be read or is invalid.
    ///
    /// - Returns: how long nothing is pulled from the co-owner, in milliseconds.
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

    /// Merges a document with the one that is here.
    ///
    /// - Returns: false if the disk is full.
    private mutating func keep(
        _ theirs: Document, of encodedDocument: EncodedDocument, from peer: NodeName,
        in world: ShardWorld
    ) throws(ShardFailure) -> Bool {
        try checkSize(of: encodedDocument, theirs)
        let old = try find(theirs.key, in: world)
        guard !isDiskFull || theirs.deletes(over: old?.document) else {
            // The pull that the document may be part of is not complete: another one brings the
            // document once the disk has space.
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
        // Whether a message is here is told by the seqs of its sendings, so they are named too.
        var superseded = encodedDocument.superseded
        for dot in theirs.sendingsReplaced where !replica.current.vector.contains(dot) {
            superseded.insert(dot)
        }
        replica.noteMerge(change, naming: theirs.changedBy, superseding: superseded, from: peer)
        if change != nil { try noteFiles(of: document, replacing: old?.document, in: world) }
        return true
    }

    /// Returns the document unchanged: only the node that accepts a change applies the rules to it.
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

    /// Takes what has changed: returns the write for the disk, and puts frames for the co-owners
    /// into the outbox.
    ///
    /// - Parameter ticket: the number of the commit, greater than all before.
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
        // Nearly always `committed` is empty, since events are sent at once: then no array is
        // copied.
        committed = committed.isEmpty ? stored : committed + stored
        if !stored.isEmpty { committedAt.append((now, stored.count)) }
        return replica.onCommitted(ticket, now: now)
    }

    /// Returns to the state on disk.
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
