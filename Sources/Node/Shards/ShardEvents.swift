import CRDT
import Chat
import Replication
import StorePort
import Wire

/// The events that follow from a shard's changes, for watched users.
extension ShardMachine {
    /// The events of committed changes.
    enum News: Sendable {
        case told([AddressedEvent])
        /// More events than one turn reads: each feed has to read the missing events from disk.
        case tooMuch
    }

    /// The number of messages in a page of messages that arrived before their conversation's
    /// document.
    package static let earlierMessagesMax = 64

    /// The conversations and the read progress that the events of one batch refer to, each read
    /// once.
    private struct Stage {
        var chats: [ConversationID: Document] = [:]
        var progress: [ConversationID: Progress] = [:]
        /// The vectors up to which users have hidden the conversations in `progress`.
        var hidden: [ConversationID: [UserID: Vector]] = [:]

        /// Returns the vector against which a document is compared for a receiver that has seen
        /// `known`.
        ///
        /// The vector is empty if the receiver has seen nothing of the document's conversation:
        /// without the conversation, none of its documents was reported.
        func told(of document: Document, from known: Vector) -> Vector {
            guard let id = ConversationID(document.key.partition), let chat = chats[id],
                document.conversation == nil, !chat.isSeen(within: known)
            else { return known }
            return Vector()
        }

        /// Returns whether a user has hidden the conversation together with this message.
        func hides(_ document: Document, from user: UserID) -> Bool {
            guard document.message != nil, let id = ConversationID(document.key.partition),
                let vector = hidden[id]?[user]
            else { return false }
            return document.isSent(within: vector)
        }
    }

    /// The greatest number of changes that wait for causes; if more wait, all are reported.
    private static let changesHeldMax = 1_024

    /// Whether committed changes wait until the causes of these changes are on disk, too.
    var isHoldingBack: Bool { !committed.isEmpty }

    /// Removes and returns the events of committed changes for watched users.
    ///
    /// Each event is returned once, and after its causes if these arrive in time.
    ///
    /// - Throws: if the disk cannot be read. After such an error, the changes are dropped without
    ///   being reported, and the shard's feeds have to be ended, so that they restart from disk.
    mutating func takeNews(
        for isWatched: (UserID) -> Bool, in world: ShardWorld
    ) throws(StoreFailure) -> News {
        let isAll =
            replica.hasCauses(now: world.milliseconds)
            || committed.count > ShardMachine.changesHeldMax
        let count = isAll ? committed.count : countHeldLong(now: world.milliseconds)
        guard isAll || count > 0 else { return .told([]) }
        var isTold = false
        defer { if isAll || !isTold { dropAddressedEvents() } else { dropOldest(count) } }
        var told: [AddressedEvent] = []
        var stage = Stage()
        let changes = isAll ? committed : Array(committed.prefix(count))
        let changed = Set(committed.map(\.after.key))
        let earlier = earlier(thanRoomsIn: changes)
        for change in inOrderOfCauses(changes) where !earlier.contains(change.after.key) {
            guard let around = try eventContext(of: change, isWatched, &stage, in: world) else {
                continue
            }
            told += addressedEvents(of: change, in: around).compactMap { addressedEvent in
                addressedEvent.narrowed {
                    isWatched($0) && !stage.hides(change.after, from: $0)
                }
            }
            guard change.before == nil, let id = change.after.conversationID(among: isWatched)
            else { continue }
            let (early, next) = try addressedEvents(
                of: id, after: nil, isWatched, &stage, in: world
            ) { earlier.contains($0.key) || !changed.contains($0.key) }
            guard next == nil else { return .tooMuch }
            told += early
        }
        isTold = true
        return .told(told)
    }

    /// Returns the events of one change, for receivers that knew this node's state, and for
    /// receivers to which other nodes reported a state that the change merged.
    ///
    /// An event for several receivers has the latest position that any of them needs: the restore
    /// of a message that its sender deleted for everyone comes after the deletion, which hides the
    /// message from the sender.
    private func addressedEvents(
        of change: DocumentChange, in around: EventContext
    ) -> [AddressedEvent] {
        // Each event of a document of blocks contains the whole document.
        guard change.after.blocks == nil else {
            return change.after.addressedEvents(since: change.before, in: around)
        }
        var told: [AddressedEvent] = []
        var before = change.before
        for step in change.steps + [change.after] {
            told += step.addressedEvents(since: before, shownAs: change.after, in: around)
            before = step
        }
        for theirs in change.crossed {
            let news = change.after.addressedEvents(since: theirs, in: around)
            told.removeAll(where: Set(news).contains)
            told += news
        }
        return told
    }

    /// Returns the changed documents that had arrived before the document of their conversation.
    ///
    /// No receiver got their earlier state, so their changes cannot be reported as differences.
    private func earlier(thanRoomsIn changes: [DocumentChange]) -> Set<DocumentKey> {
        let chats = changes.filter { $0.before == nil && $0.after.conversation != nil }
        guard !chats.isEmpty else { return [] }
        let partitions = Set(chats.map(\.after.key.partition))
        var (seen, earlier): (Set<DocumentKey>, Set<DocumentKey>) = ([], [])
        for change in committed
        where partitions.contains(change.after.key.partition) && !change.after.key.kind.isOfUser {
            let isFirst = seen.insert(change.after.key).inserted
            if isFirst, change.before != nil { earlier.insert(change.after.key) }
        }
        return earlier
    }

    /// Returns the number of oldest changes that have waited for causes for the maximum time.
    ///
    /// The oldest changes are reported before the later changes, since at every moment some later
    /// change may wait for a cause.
    private func countHeldLong(now: UInt64) -> Int {
        committedAt.prefix { now >= $0.milliseconds + replica.causePatienceMilliseconds }
            .reduce(0) { $0 + $1.count }
    }

    /// Removes the oldest changes, which have been reported, while later changes still wait.
    ///
    /// The feed position contains the removed changes from now on. A receiver for which the disk
    /// was read meanwhile, or that resumes before the later changes are reported, needs a scan.
    private mutating func dropOldest(_ count: Int) {
        for change in committed.prefix(count) { feedPosition.insert(change.after.changedBy) }
        committed.removeFirst(count)
        var left = count
        while left > 0, let first = committedAt.first {
            left -= first.count
            committedAt.removeFirst()
        }
    }

    /// Sorts changes by their stamps: a stamp is later than every change that its writer had seen.
    ///
    /// The changes of one document keep their order: when an earlier sending of a message replaces
    /// a later sending, the stamps of the later sending disappear from the document.
    private func inOrderOfCauses(_ changes: [DocumentChange]) -> [DocumentChange] {
        var times = changes.map(\.after.greatestTime)
        guard zip(times, times.dropFirst()).contains(where: >) else { return changes }
        var latest: [DocumentKey: HybridTimestamp] = [:]
        for (index, change) in changes.enumerated() {
            times[index] = max(times[index], latest[change.after.key] ?? .zero)
            latest[change.after.key] = times[index]
        }
        let order = times.indices.sorted { (times[$0], $0) < (times[$1], $1) }
        return order.map { changes[$0] }
    }

    /// Drops the committed changes without reporting them to watchers.
    mutating func dropAddressedEvents() {
        committed = []
        committedAt = []
        replica.leaveCauses()
        feedPosition = replica.stored.vector
    }

    /// Returns one batch of the events that a receiver that has seen `known` may lack.
    ///
    /// - Parameters:
    ///   - skipped: `known`, united with the changes of the documents that were reported since.
    ///   - target: the feed position at the time when the first batch was read.
    ///   - user: the only user whose events are returned; nil for all watched users. The batch for
    ///     a single user contains no profiles, since the profiles for a user are in many shards.
    mutating func addressedEvents(
        beyond known: Vector, skipping skipped: Vector, upTo target: Vector,
        at place: FeedScan.Place, for user: UserID?, to isWatched: (UserID) -> Bool,
        in world: ShardWorld
    ) throws(StoreFailure) -> FeedBatch {
        let isMeant = { (other: UserID) in user.map { $0 == other } ?? isWatched(other) }
        switch place {
        case .changes(let cursor):
            return try addressedEvents(
                beyond: known, skipping: skipped, upTo: target, after: cursor, for: user, isMeant,
                in: world)
        case .earlier(var rest):
            guard let id = rest.conversations.first else {
                return FeedBatch(next: rest.cursor.map { .changes(after: $0) })
            }
            var stage = Stage()
            let (told, next) = try addressedEvents(
                of: id, after: rest.position, isMeant, &stage, in: world
            ) {
                // Changes in the target are reported as changes by the rest of this scan.
                !$0.isSent(behind: target)
                    && !$0.changedBy.dots.contains {
                        target.contains($0) && !skipped.contains($0)
                    }
            }
            rest.position = next
            if next == nil { rest.conversations.removeFirst() }
            return FeedBatch(told: told, next: .earlier(rest))
        }
    }

    private mutating func addressedEvents(
        beyond known: Vector, skipping skipped: Vector, upTo target: Vector, after cursor: Dot?,
        for user: UserID?, _ isMeant: (UserID) -> Bool, in world: ShardWorld
    ) throws(StoreFailure) -> FeedBatch {
        let found = try world.reader.changes(
            in: replica.shard, lackedBy: skipped, of: target, after: cursor,
            bytesMax: Scan.batchBytesMax)
        var batch = FeedBatch()
        var stage = Stage()
        var late: [ConversationID] = []
        let altered = keysAltered(since: target)
        let isContinued = skipped != known
        var reads: [(document: Document, change: Dot?)] = []
        for encodedDocument in found.encodedDocuments {
            guard let read = try document(in: encodedDocument),
                !read.wasScanned(beyond: skipped, upTo: target, before: cursor)
            else { continue }
            let change = read.change(
                beyond: skipped, upTo: target, after: cursor, through: lastStep(before: found.next))
            reads.append((read, change))
        }
        // The documents are sorted by change, so that a receiver that disconnects during the batch
        // has received all documents up to a change.
        reads.sort { first, second in
            guard let later = second.change else { return false }
            return first.change.map { $0 < later } ?? true
        }
        for (read, change) in reads {
            guard
                let document = try documents.stored(
                    read.key, otherwise: { () throws(StoreFailure) in read }),
                altered.contains(document.key) || !document.isSent(behind: target),
                user == nil || document.profile == nil
            else { continue }
            let events = try addressedEvents(
                of: document, beyond: known, isMeant, &stage, in: world)
            batch.told += events
            if isContinued { late += document.conversationsCleared(by: events) }
            if !known.isEmpty, !document.isSeen(within: known) {
                late += [document.conversationID(among: isMeant)].compactMap(\.self)
            }
            guard late.isEmpty, let change else { continue }
            batch.steps.append(FeedBatch.Step(end: batch.told.count, change: change))
        }
        batch.tellHidingsFirst()
        batch.next =
            late.isEmpty
            ? found.next.map { .changes(after: $0) }
            : .earlier(FeedScan.Earlier(conversations: late, cursor: found.next))
        return batch
    }

    /// Returns the last change that a step of a batch may name: the last change of the batch.
    private func lastStep(before next: Dot?) -> Dot? {
        #if PlantedBugs
            if PlantedBug.replayAheadOfTold.isOn { return nil }
        #endif
        return next
    }

    /// Returns the documents in a scan's target that changes that wait for causes have altered.
    ///
    /// The live feed will report these changes as differences, so the scan has to report the
    /// documents. Seqs do not identify these documents: the seq of a sending is in no vector until
    /// its pull is done, and a later seq of the same replica id replaces the seq in the target.
    private func keysAltered(since target: Vector) -> Set<DocumentKey> {
        var (seen, altered): (Set<DocumentKey>, Set<DocumentKey>) = ([], [])
        for change in committed where seen.insert(change.after.key).inserted {
            guard let before = change.before, !before.isSent(behind: target) else { continue }
            altered.insert(change.after.key)
        }
        return altered
    }

    private mutating func addressedEvents(
        of document: Document, beyond known: Vector, _ isWatched: (UserID) -> Bool,
        _ stage: inout Stage, in world: ShardWorld
    ) throws(StoreFailure) -> [AddressedEvent] {
        let change = DocumentChange(before: nil, steps: [], after: document)
        guard let around = try eventContext(of: change, isWatched, &stage, in: world) else {
            return []
        }
        let told = document.addressedEvents(
            beyond: stage.told(of: document, from: known), in: around)
        return told.compactMap { addressedEvent in
            addressedEvent.narrowed { isWatched($0) && !stage.hides(document, from: $0) }
        }
    }

    /// Returns a page of the events of a conversation that a receiver learns of for the first time.
    ///
    /// Documents arrive in any order: documents that arrived before their conversation were
    /// reported to no receiver, since the participants were unknown.
    ///
    /// - Returns: the events, and the message after which the next page begins; nil at the end.
    private mutating func addressedEvents(
        of id: ConversationID, after position: HistoryPosition?, _ isWatched: (UserID) -> Bool,
        _ stage: inout Stage, in world: ShardWorld, where isMeant: (Document) -> Bool
    ) throws(StoreFailure) -> (told: [AddressedEvent], next: HistoryPosition?) {
        var found: [Document] = []
        let page = HistoryPage(
            .after(position ?? .start(of: .zero)), limit: earlierMessagesMax)
        try world.reader.history(of: id, in: replica.shard, page: page) {
            found.append($0)
            return found.count < page.limit
        }
        let next = found.count < page.limit ? nil : found.last?.historyPosition
        if next == nil { found += try world.reader.participantStates(of: id, in: replica.shard) }
        var told: [AddressedEvent] = []
        for read in found {
            let document = try documents.stored(read.key) { () throws(StoreFailure) in read }
            guard let document, isMeant(document) else { continue }
            told += try addressedEvents(
                of: document, beyond: Vector(), isWatched, &stage, in: world)
        }
        // A receiver that learns of the conversation for the first time has no message of the
        // conversation to hide.
        return (told.filter { $0.event.kind != .hide }, next)
    }

    /// Returns whether the shard contains a conversation or item that is or was the user's.
    ///
    /// Otherwise no event of the shard concerns the user. Former conversations and items count,
    /// because their users receive events about leaving a conversation and deleting an item.
    func concerns(_ user: UserID, in world: ShardWorld) -> Bool {
        guard !isPending(concerning: user) else { return true }
        do throws(StoreFailure) {
            for (kind, term) in Term.concerning(user) {
                let keys = try world.reader.keys(
                    of: kind, carrying: term, in: replica.shard, partition: nil)
                guard keys.isEmpty else { return true }
            }
            return false
        } catch {
            return true
        }
    }

    /// Returns whether a conversation or item that is or was the user's is not stored yet.
    func isPending(concerning user: UserID) -> Bool {
        documents.pending.values.contains { $0.document.concerns(user) }
    }

    private func document(in encodedDocument: EncodedDocument) throws(StoreFailure) -> Document? {
        do throws(WireError) {
            return try Document(
                DocumentKey.decode(encodedDocument.key), decoding: encodedDocument.bytes)
        } catch {
            throw .failed("a document on disk cannot be read: \(error)")
        }
    }

    /// Returns the context of the events of a change; nil if the change concerns no watched user.
    private mutating func eventContext(
        of change: DocumentChange, _ isWatched: (UserID) -> Bool, _ stage: inout Stage,
        in world: ShardWorld
    ) throws(StoreFailure) -> EventContext? {
        let document = change.after
        let time = HybridTimestamp(milliseconds: world.judge.wallMilliseconds)
        if let chat = document.conversation {
            // Everybody who was ever a participant is in `elements` or in `removed`.
            let isMeant =
                chat.participants.elements.contains(where: isWatched)
                || chat.participants.removed.contains(where: isWatched)
            return isMeant ? EventContext(chat: chat, progress: Progress(), time: time) : nil
        }
        if let item = document.item {
            let owners = [item.owner, change.before?.item?.owner].compactMap(\.self)
            guard owners.contains(where: isWatched) else { return nil }
            // An item's document of an earlier version does not count if the owner has a document
            // under the key of this version.
            if document.key.id.isEmpty, let id = ItemID(document.key.partition) {
                let own = DocumentKey.item(id, of: item.owner)
                let found = try documents.find(own, in: replica.shard, reader: world.reader)
                guard found == nil else { return nil }
            }
            return EventContext(chat: nil, progress: Progress(), time: time)
        }
        if document.profile != nil {
            return EventContext(chat: nil, progress: Progress(), time: time)
        }
        if document.blocks != nil {
            let isMeant = isWatched(UserID(checked: document.key.partition))
            return isMeant ? EventContext(chat: nil, progress: Progress(), time: time) : nil
        }
        guard let id = ConversationID(document.key.partition),
            let chat = try chat(id, &stage, in: world),
            chat.participants.elements.contains(where: isWatched)
        else { return nil }
        var progress = Progress()
        if document.message != nil {
            progress = try self.progress(of: id, chat, &stage, in: world)
        }
        return EventContext(chat: chat, progress: progress, time: time)
    }

    private mutating func chat(
        _ id: ConversationID, _ stage: inout Stage, in world: ShardWorld
    ) throws(StoreFailure) -> Conversation? {
        if let chat = stage.chats[id] { return chat.conversation }
        let (key, shard) = (DocumentKey.conversation(id), replica.shard)
        let found: Document?
        if documents.pending[key] == nil {
            found = try documents.find(key, in: shard, reader: world.reader)?.document
        } else {
            found = try documents.stored(key) { () throws(StoreFailure) in nil }
        }
        stage.chats[id] = found
        return found?.conversation
    }

    private func progress(
        of id: ConversationID, _ chat: Conversation, _ stage: inout Stage, in world: ShardWorld
    ) throws(StoreFailure) -> Progress {
        if let progress = stage.progress[id] { return progress }
        let participantStates = try world.reader.participantStates(of: id, in: replica.shard)
            .compactMap { document in
                UserID(document.key.id).flatMap { user in
                    document.participantState.map { (user: user, participantState: $0) }
                }
            }
        let progress = Progress(of: participantStates, in: chat)
        stage.progress[id] = progress
        for (user, participantState) in participantStates {
            if let vector = chat.hiddenVector(of: user, in: participantState) {
                stage.hidden[id, default: [:]][user] = vector
            }
        }
        return progress
    }
}
