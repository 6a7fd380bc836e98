import CRDT
import Chat
import Replication
import Wire

/// Why a shard does not do what it was asked.
package enum ShardFailure: Error, Hashable, Sendable {
    case refused(Refusal)
    /// What is here must not be shown yet: it may be older than what others hold.
    case notReady
    /// Nobody who holds the shard answers.
    case unreachable
    /// Who was asked has not answered: it may be done.
    case unanswered
    /// No copy that can be reached is known to hold what the connection has seen.
    case behind
    /// Too much waits for other members already.
    case overloaded
    /// The wall clock here is so many milliseconds ahead of the cluster's.
    case clock(Int64)
    case store(StoreFailure)
    /// A co-owner sent what it cannot have meant.
    case badFrame(WireError)
    /// What is here was written no earlier: nothing was done, and a greater time is needed.
    ///
    /// No client is told: the node that read its line asks again, or says that it may be done.
    case stale(HybridTimestamp)
    /// Who was asked does not know this request, or cannot read what it is about: a later version
    /// does.
    case unsupported
}

/// What a shard is handed for each event: time, random bits, and what is on disk.
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

/// What turned out to be damaged of a shard on disk: documents, or what leads to them.
package struct Damage: Hashable, Sendable {
    package private(set) var documents: [DocumentKey] = []

    func with(_ key: DocumentKey) -> Damage {
        var damage = self
        if !documents.contains(key) { damage.documents.append(key) }
        return damage
    }
}

/// All that a node does with one shard: documents and their rules on one side, the copy and its
/// co-owners on the other.
///
/// A value: it decides, and whoever owns it carries out. What it changes is handed to the disk by
/// `takeWrite` and to the co-owners by `takeOutbox`, once for many changes.
package struct ShardMachine: Sendable {
    /// What an accepted mutation came to.
    package struct Accepted: Hashable, Sendable {
        /// Nil where nothing was asked of a document that is not there.
        package let document: Document?
        package let receipt: Receipt
    }

    package internal(set) var copy: ShardReplica
    var documents = ShardDocuments()
    var counts: ShardCounts
    let shardCount: UInt16
    private var damage: Damage?
    /// Whether nothing but deletions is merged: the disk is full.
    var isDiskFull = false
    /// Passes every time in it that is believed.
    var clock: HybridClock
    /// What commits have stored, until those who watch are told.
    var committed: [DocumentChange] = []
    /// When those were stored, so many at each time, oldest first.
    var committedAt: [(milliseconds: UInt64, count: Int)] = []
    /// All that is in it, or was there from the beginning, has been told to those who watch.
    var feedPosition: Vector
    /// How many messages are read at once of a conversation that came behind them.
    let earlierMessagesMax: Int
    /// Accepted since the last turn, for the co-owners; each once.
    private var accepted: [DocumentKey] = []
    /// The changes of those before the last of each.
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
        copy = ShardReplica(
            shard, stored: stored, ownership: ownership, life: life, now: now,
            restRangesMax: restRangesMax, causePatienceMilliseconds: causePatienceMilliseconds)
        clock = HybridClock(startingAfter: stored.greatest)
    }
}

// MARK: Mutations

extension ShardMachine {
    /// Executes an operation, or says why not.
    ///
    /// - Parameters:
    ///   - slot: the reply that waits until it is stored; nil where nobody waits.
    ///   - attempt: what is known of it before it is looked at.
    package mutating func submit(
        _ operation: Operation, for slot: ReplySlot?, level: AckLevel,
        attempt: PeerRequest.Attempt = .first, in world: ShardWorld
    ) throws(ShardFailure) -> Accepted {
        guard copy.mayAnswer else { throw .notReady }
        let mutation = operation.mutation
        let conversation = try mutation.conversation.flatMap { id throws(ShardFailure) in
            try find(.conversation(id), in: world)
        }
        let key = mutation.key
        let target = attempt == .minted ? nil : try find(key, in: world)
        let isUnreadable =
            conversation?.document.isUnreadable ?? false
            || target?.document.isUnreadable ?? false
        guard !isUnreadable else { throw .unsupported }
        let room = conversation?.document.conversation
        let reached = try position(reachedBy: operation, attempt, in: room, world)
        let isChange = try judge(
            operation, attempt, conversation: room, target: target?.document, reached: reached,
            in: world)
        var mark: Mark?
        var unread: Int?
        if let room, let id = mutation.conversation, mutation.marking != nil {
            mark = reached.map { room.mark(of: mutation.user, at: $0) }
            unread = try self.unread(
                after: isChange ? mutation : nil, by: mutation.user, reached,
                in: (id, room), target?.document.participantState, world)
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
        var hidden: Hidden?
        if case .hideChat = mutation.action {
            hidden = Hidden(
                invitation: room?.invitation(of: mutation.user), vector: copy.current.vector)
        }
        try checkSize(of: mutation, over: target, hiding: hidden)
        let (document, dot) = write(
            operation, at: key, setting: mark, hiding: hidden, over: target, in: world)
        // One change alone made what is new: its context is there.
        let context = target == nil ? document.changedBy : Context(dot)
        wait(slot, storing: context, level: level, in: world)
        return Accepted(
            document: document,
            receipt: Receipt(
                of: operation, document: document, context: context, unread: unread,
                isRepeated: false))
    }

    /// What a mark leaves unread: counted before it is written, so that a failing read changes
    /// nothing.
    ///
    /// - Parameter mutation: what will be written; nil for nothing.
    private mutating func unread(
        after mutation: Mutation?, by user: UserID, _ reached: HistoryPosition?,
        in place: (id: ConversationID, room: Conversation), _ participantState: ParticipantState?,
        _ world: ShardWorld
    ) throws(ShardFailure) -> Int {
        var read = place.room.readPosition(of: user, in: participantState)
        if case .read = mutation?.action { read = reached }
        let hidden = place.room.hiddenVector(of: user, in: participantState)
        return try unread(
            in: place.id, place.room, of: user, readTo: read, hiding: hidden, in: world)
    }

    private mutating func write(
        _ operation: Operation, at key: DocumentKey, setting mark: Mark?, hiding hidden: Hidden?,
        over target: ShardDocuments.Found?, in world: ShardWorld
    ) -> (Document, Dot) {
        let dot = copy.nextDot { world.entropy.nextID() }
        let latest = copy.current.latest
        if let target, documents.isHandedOutLater(key), accepted.contains(key) {
            supersede(target, by: dot)
        } else {
            accepted.append(key)
        }
        let stamp = stamp(of: operation, executedAs: dot, over: target?.document, in: world)
        let author = Authorship(
            dot: dot, stamp: stamp, unsettled: operation.unsettled.counters)
        let document = operation.mutation.applied(
            to: target?.document, setting: mark, hiding: hidden, by: author)
        clock.observe(world.judge.wall)
        clock.observe(document.greatestTime, at: world.judge.wall)
        let isNewest = target == nil && document.historyTime > latest
        copy.noteWrite(put(document, replacing: target), by: dot)
        count(document, replacing: target?.document, isNewest: isNewest, in: world)
        return (document, dot)
    }

    /// A document of the most bytes that is sent with each of several changes of a turn.
    ///
    /// Whoever watches elsewhere is then told of each. A larger one is sent once a turn, so that
    /// many small changes of it cost no more than one; they are told as what they come to together.
    private static let sentEachTimeBytesMax = 16 << 10

    /// A document that was accepted in this turn changes once more.
    ///
    /// It names the last seq of a replica alone: the co-owners would lack the seq of the earlier
    /// change, were that not sent on its own or told beside the document.
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
        copy.wait(slot, storing: context, level: level, now: world.milliseconds)
    }

    /// - Parameter document: the clock has seen every time in it.
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
            return try documents.find(key, in: copy.shard, reader: world.reader)
        } catch {
            note(error)
            throw .store(error)
        }
    }

    /// The greatest time of anything in it.
    package var greatestTime: HybridTimestamp { clock.greatest }
}

// MARK: Turns

extension ShardMachine {
    /// Takes a frame of a co-owner's and merges what it brings.
    ///
    /// - Throws: `badFrame` where it cannot be meant; what it brought before is kept.
    package mutating func receive(
        _ frame: Frame, from peer: NodeName, in world: ShardWorld
    ) throws(ShardFailure) {
        var failure: ShardFailure?
        for encodedDocument in copy.receive(frame, from: peer, now: world.milliseconds) {
            do throws(ShardFailure) {
                try merge(encodedDocument, from: peer, in: world)
            } catch {
                // The others are good, but the pull that they may be part of proves nothing.
                copy.onMergeFailed(from: peer, now: world.milliseconds)
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
    }

    /// A frame of a co-owner's cannot be read or cannot be meant.
    ///
    /// - Returns: how long the co-owner is not asked for what is lacked here, in milliseconds.
    mutating func onBadFrame(from peer: NodeName, now: UInt64) -> UInt64 {
        copy.onBadFrame(from: peer, now: now)
    }

    private mutating func merge(
        _ encodedDocument: EncodedDocument, from peer: NodeName, in world: ShardWorld
    ) throws(ShardFailure) {
        let theirs = try judgedAgain(decode(encodedDocument), in: world)
        try checkSize(of: encodedDocument, theirs)
        let old = try find(theirs.key, in: world)
        guard !isDiskFull || theirs.deletes(over: old?.document) else {
            // The pull that it may be part of proves nothing; it is fetched once there is room.
            copy.onMergeFailed(from: peer, now: world.milliseconds)
            return
        }
        var document = theirs
        if var mine = old?.document {
            mine.merge(theirs)
            document = mine
        }
        let isNewest = old == nil && document.historyTime > copy.current.latest
        var change: Change?
        if document != old?.document {
            let encoded = document.encodedWithDigest
            guard encoded.bytes.count <= Document.bytesMax else {
                throw .badFrame(
                    .tooLong(count: UInt64(encoded.bytes.count), limit: Document.bytesMax))
            }
            clock.observe(document.greatestTime, at: world.judge.wall)
            change = put(document, as: encoded, replacing: old)
            if encoded.bytes != encodedDocument.bytes { documents.noteCrossed(theirs) }
            count(document, replacing: old?.document, isNewest: isNewest, in: world)
        }
        #if PlantedBugs
            if PlantedBug.indexNotUpdatedOnMerge.isOn { documents.keepIndexKeys(of: theirs.key) }
        #endif
        copy.noteMerge(
            change, naming: theirs.changedBy, superseding: encodedDocument.superseded, from: peer)
    }

    /// As it came; a rule was judged by who accepted the change.
    private mutating func judgedAgain(
        _ document: Document, in world: ShardWorld
    ) throws(ShardFailure) -> Document {
        #if PlantedBugs
            if PlantedBug.ruleJudgedAtMerge.isOn {
                let key = DocumentKey(
                    checked: .conversation, partition: document.key.partition, id: "")
                let room = try find(key, in: world)?.document.conversation
                return document.judgedAgain(by: world.judge, in: room)
            }
        #endif
        return document
    }

    private func decode(_ encodedDocument: EncodedDocument) throws(ShardFailure) -> Document {
        do throws(WireError) {
            let key = try DocumentKey.decode(encodedDocument.key)
            guard !key.kind.isCountedRun else { throw WireError.invalid("a document") }
            guard key.shard(of: shardCount) == copy.shard else {
                throw WireError.invalid("a document of shard \(copy.shard)")
            }
            return try Document(key, decoding: encodedDocument.bytes)
        } catch {
            throw .badFrame(error)
        }
    }

    /// Hands out what changed: to the disk as this commit, to the co-owners as frames.
    ///
    /// - Parameter ticket: greater than every one before.
    package mutating func takeWrite(_ ticket: UInt64) -> ShardWrite? {
        pushAccepted()
        guard let (header, isBaseNew) = copy.beginCommit(ticket) else { return nil }
        return ShardWrite(
            shard: copy.shard, header: header,
            base: isBaseNew ? header.base.vector.encoded : nil,
            records: documents.takeRecords(for: ticket), runs: counts.takeWrites(for: ticket))
    }

    private mutating func pushAccepted() {
        guard !accepted.isEmpty else { return }
        defer {
            accepted.removeAll(keepingCapacity: true)
            superseded = [:]
        }
        guard copy.hasPeers else { return }
        var encodedDocuments: [EncodedDocument] = []
        var size = 0
        for key in accepted {
            guard let bytes = documents.pending[key]?.bytes else { continue }
            let encodedDocument = EncodedDocument(
                key: key.encoded, bytes: bytes, superseded: superseded[key] ?? Vector())
            if size + encodedDocument.size > Scan.batchBytesMax {
                copy.push(encodedDocuments)
                encodedDocuments = []
                size = 0
            }
            encodedDocuments.append(encodedDocument)
            size += encodedDocument.size
        }
        copy.push(encodedDocuments)
    }

    package mutating func takeOutbox() -> [(to: NodeName, frame: Frame)] { copy.takeOutbox() }

    /// Reads the next batch for a peer's pull and puts it out.
    package mutating func serveBatch(to peer: NodeName, reader: any DocumentReader) {
        guard let scan = copy.nextScan(for: peer) else { return }
        do {
            let found = try reader.changes(
                in: copy.shard, lackedBy: scan.theirs, of: scan.ours, after: scan.cursor,
                bytesMax: Scan.batchBytesMax)
            copy.onScanned(found.encodedDocuments, next: found.next, for: peer)
        } catch {
            #if PlantedBugs
                if PlantedBug.damagedIndexReadAsEmpty.isOn, error == .badIndex {
                    return copy.onScanned([], next: nil, for: peer)
                }
            #endif
            note(error)
            copy.onScanFailed(for: peer)
        }
    }

    package mutating func onCommitted(_ ticket: UInt64, now: UInt64) -> [(ReplySlot, Stored)] {
        let stored = documents.onCommitted(ticket)
        counts.onCommitted(ticket)
        // Nearly always it is told at once: then nothing is copied.
        committed = committed.isEmpty ? stored : committed + stored
        if !stored.isEmpty { committedAt.append((now, stored.count)) }
        return copy.onCommitted(ticket, now: now)
    }

    /// Back to what is on disk.
    ///
    /// - Returns: the replies that will not come.
    package mutating func onCommitFailed() -> [ReplySlot] {
        documents.removeAll()
        counts.removeAll()
        accepted = []
        superseded = [:]
        return copy.onCommitFailed()
    }
}

// MARK: Bad documents

extension ShardMachine {
    /// What turned out to be damaged on disk, since last asked; nil for nothing.
    package mutating func takeDamage() -> Damage? {
        defer { damage = nil }
        return damage
    }

    /// Notes what a read of the disk found.
    mutating func note(_ failure: StoreFailure) {
        switch failure {
        case .badRecord(let key): damage = (damage ?? Damage()).with(key)
        case .badIndex: damage = damage ?? Damage()
        case .full, .locked, .failed: return
        }
    }

    /// The disk holds all that this header counts.
    package mutating func onChecked(_ header: ReplicaHeader) { copy.onChecked(header) }

    /// The disk has lost acknowledged changes.
    package mutating func doubt(now: UInt64) { copy.doubt(now: now) }

    /// Nothing is shown or accepted until the bad documents are set aside.
    package mutating func suspend(now: UInt64) { copy.suspend(now: now) }

    /// Documents were set aside because their bytes are bad: the copy is what the others make up.
    ///
    /// Only while all is on disk. Then the disk drops the bad documents and keeps `copy.stored` in
    /// one transaction; and the connections to co-owners are given up, for what was confirmed on
    /// them may not be here any more.
    ///
    /// - Parameter header: made from the remaining documents alone.
    /// - Returns: the replies that will not come.
    package mutating func onSetAside(
        _ header: ReplicaHeader, at wall: WallTime, now: UInt64
    ) -> [ReplySlot] {
        documents.removeAll()
        counts.removeAll()
        clock.observe(header.greatest, at: wall)
        defer { dropAddressedEvents() }
        return copy.onSetAside(header, now: now)
    }
}

// MARK: Peers and time

extension ShardMachine {
    /// The cluster is founded here: this copy was there from the beginning.
    package mutating func found() { copy.found() }

    package mutating func setOwnership(_ ownership: Ownership, now: UInt64) {
        copy.setOwnership(ownership, now: now)
    }

    /// The disk is told to drop the copy: every owner has all of it.
    package mutating func beginDrop() { copy.beginDrop() }

    package mutating func onDropFailed() { copy.onDropFailed() }

    package mutating func onPeerUp(_ peer: NodeName) { copy.onPeerUp(peer) }

    package mutating func onPeerDown(_ peer: NodeName) { copy.onPeerDown(peer) }

    /// The peer's copy is the same as what is on disk here.
    package mutating func onLevel(with peer: NodeName, isServing: Bool) {
        copy.onLevel(with: peer, isServing: isServing)
    }

    /// A frame of this shard's never left, because too many waited for the peer.
    package mutating func onDropped(_ frame: Frame, to peer: NodeName, now: UInt64) {
        copy.onDropped(frame, to: peer, now: now)
    }

    package mutating func offer(to peer: NodeName) { copy.offer(to: peer) }

    package mutating func onNobodyReached() { copy.onNobodyReached() }

    package mutating func onTick(now: UInt64) -> [(ReplySlot, Stored)] { copy.onTick(now: now) }

    package mutating func takeSettled(now: UInt64) -> [(ReplySlot, Stored)] {
        copy.takeSettled(now: now)
    }

    package mutating func takeDivergences() -> [NodeName] { copy.takeDivergences() }
}
