import CRDT
import Chat
import Replication
import Wire

/// What a shard tells those who watch its users.
extension ShardMachine {
    /// What commits have changed.
    enum News: Sendable {
        case told([AddressedEvent])
        /// More than is read at once: each feed reads what its receiver does not know.
        case tooMuch
    }

    /// How many messages are read at once of a conversation that came behind them.
    package static let earlierMessagesMax = 64

    /// The rooms and the progress of the conversations that events are of, each read once.
    private struct Stage {
        var rooms: [ConversationID: Document] = [:]
        var progress: [ConversationID: Progress] = [:]
        /// What users hide of the conversations whose progress is known.
        var hidden: [ConversationID: [UserID: Vector]] = [:]

        /// What of a document is new to who has seen `known`: all of it, where they have seen
        /// nothing of its conversation, for without that they were told of nothing.
        func told(of document: Document, from known: Vector) -> Vector {
            guard let id = ConversationID(document.key.partition), let room = rooms[id],
                document.conversation == nil, !room.isSeen(within: known)
            else { return known }
            return Vector()
        }

        /// Whether a user has a document's conversation hidden with this in it.
        func hides(_ document: Document, from user: UserID) -> Bool {
            guard document.message != nil, let id = ConversationID(document.key.partition),
                let vector = hidden[id]?[user]
            else { return false }
            return document.isSent(within: vector)
        }
    }

    /// The most changes that wait for their causes.
    private static let changesHeldMax = 1_024

    /// Whether what commits changed waits until its causes are on disk, too.
    var isHoldingBack: Bool { !committed.isEmpty }

    /// What commits have changed, for those who are watched: told once, and no answer before what
    /// it answers.
    ///
    /// - Throws: where the disk cannot be read: then nothing counts as told.
    mutating func takeNews(
        for isWatched: (UserID) -> Bool, in world: ShardWorld
    ) throws(StoreFailure) -> News {
        let isAll =
            copy.hasCauses(now: world.milliseconds)
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

    /// What a change came to, for who knew what was here, and for who was told elsewhere of what it
    /// was joined with: each of them learns what the other had.
    private func addressedEvents(
        of change: DocumentChange, in around: EventContext
    ) -> [AddressedEvent] {
        var told: [AddressedEvent] = []
        var before = change.before
        for step in change.steps + [change.after] {
            told += step.addressedEvents(since: before, shownAs: change.after, in: around)
            before = step
        }
        guard !change.crossed.isEmpty else { return told }
        var known = Set(told)
        for theirs in change.crossed {
            told += change.after.addressedEvents(since: theirs, in: around)
                .filter { known.insert($0).inserted }
        }
        return told
    }

    /// What was here before its conversation, which these changes bring, and has changed since:
    /// what these changes come to says nothing to who was not told of it.
    private func earlier(thanRoomsIn changes: [DocumentChange]) -> Set<DocumentKey> {
        let rooms = changes.filter { $0.before == nil && $0.after.conversation != nil }
        guard !rooms.isEmpty else { return [] }
        let partitions = Set(rooms.map(\.after.key.partition))
        var (seen, earlier): (Set<DocumentKey>, Set<DocumentKey>) = ([], [])
        for change in committed where partitions.contains(change.after.key.partition) {
            let isFirst = seen.insert(change.after.key).inserted
            if isFirst, change.before != nil { earlier.insert(change.after.key) }
        }
        return earlier
    }

    /// How many changes have waited for causes as long as any does: there may be no moment at which
    /// no cause of a later one is on its way.
    private func countHeldLong(now: UInt64) -> Int {
        committedAt.prefix { now >= $0.milliseconds + copy.causePatienceMilliseconds }
            .reduce(0) { $0 + $1.count }
    }

    /// The oldest changes are told, and later ones are not yet.
    ///
    /// They count as told from here on: who was read to meanwhile, or comes back before the others
    /// are told, is told of them by what is read.
    private mutating func dropOldest(_ count: Int) {
        for change in committed.prefix(count) { feedPosition.insert(change.after.changedBy) }
        committed.removeFirst(count)
        var left = count
        while left > 0, let first = committedAt.first {
            left -= first.count
            committedAt.removeFirst()
        }
    }

    /// A stamp is later than all that its writer had seen.
    ///
    /// The changes of one document keep their order: where an earlier sending of its id takes its
    /// place, the stamps of the later one are gone from it.
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

    /// Nobody is told of what commits have changed.
    mutating func dropAddressedEvents() {
        committed = []
        committedAt = []
        copy.leaveCauses()
        feedPosition = copy.stored.vector
    }

    /// What somebody who has seen `known` may not know, a batch of it.
    ///
    /// - Parameters:
    ///   - target: what was on disk when the first batch was read.
    ///   - user: who alone is told; nil for all who are watched. A single user is told of no
    ///     profiles: those that concern somebody lie in many shards.
    /// - Returns: where to go on; nil at the end.
    mutating func addressedEvents(
        beyond known: Vector, upTo target: Vector, at place: FeedScan.Place, for user: UserID?,
        to isWatched: (UserID) -> Bool, in world: ShardWorld
    ) throws(StoreFailure) -> (told: [AddressedEvent], next: FeedScan.Place?) {
        let isMeant = { (other: UserID) in user.map { $0 == other } ?? isWatched(other) }
        switch place {
        case .changes(let cursor):
            return try addressedEvents(
                beyond: known, upTo: target, after: cursor, for: user, isMeant, in: world)
        case .earlier(var rest):
            guard let id = rest.conversations.first else {
                return ([], rest.cursor.map { .changes(after: $0) })
            }
            var stage = Stage()
            let (told, next) = try addressedEvents(
                of: id, after: rest.position, isMeant, &stage, in: world
            ) {
                // The others come by themselves.
                $0.changedBy.dots.allSatisfy(known.contains)
            }
            rest.position = next
            if next == nil { rest.conversations.removeFirst() }
            return (told, .earlier(rest))
        }
    }

    private mutating func addressedEvents(
        beyond known: Vector, upTo target: Vector, after cursor: Dot?, for user: UserID?,
        _ isMeant: (UserID) -> Bool, in world: ShardWorld
    ) throws(StoreFailure) -> (told: [AddressedEvent], next: FeedScan.Place?) {
        let found = try world.reader.changes(
            in: copy.shard, lackedBy: known, of: target, after: cursor,
            bytesMax: Scan.batchBytesMax)
        var told: [AddressedEvent] = []
        var stage = Stage()
        var late: [ConversationID] = []
        for encodedDocument in found.encodedDocuments {
            guard let read = try document(in: encodedDocument),
                let document = try documents.stored(
                    read.key, otherwise: { () throws(StoreFailure) in read })
            else { continue }
            guard user == nil || document.profile == nil else { continue }
            told += try addressedEvents(of: document, beyond: known, isMeant, &stage, in: world)
            guard !known.isEmpty, !document.isSeen(within: known) else { continue }
            late += [document.conversationID(among: isMeant)].compactMap(\.self)
        }
        // What came behind a hiding shows: it is told behind it.
        let hidings = told.filter { $0.event.kind == .hide }
        if !hidings.isEmpty { told = hidings + told.filter { $0.event.kind != .hide } }
        guard late.isEmpty else {
            return (told, .earlier(FeedScan.Earlier(conversations: late, cursor: found.next)))
        }
        return (told, found.next.map { .changes(after: $0) })
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

    /// What there is of a conversation that somebody hears of for the first time, a page of it.
    ///
    /// Documents come in any order: what was here before the conversation was told to nobody, for
    /// nobody knew to whom.
    ///
    /// - Returns: behind which message it goes on; nil at the end.
    private mutating func addressedEvents(
        of id: ConversationID, after position: HistoryPosition?, _ isWatched: (UserID) -> Bool,
        _ stage: inout Stage, in world: ShardWorld, where isMeant: (Document) -> Bool
    ) throws(StoreFailure) -> (told: [AddressedEvent], next: HistoryPosition?) {
        var found: [Document] = []
        let page = HistoryPage(
            .after(position ?? .start(of: .zero)), limit: earlierMessagesMax)
        try world.reader.history(of: id, in: copy.shard, page: page) {
            found.append($0)
            return found.count < page.limit
        }
        let next = found.count < page.limit ? nil : found.last?.historyPosition
        if next == nil { found += try world.reader.participantStates(of: id, in: copy.shard) }
        var told: [AddressedEvent] = []
        for read in found {
            let document = try documents.stored(read.key) { () throws(StoreFailure) in read }
            guard let document, isMeant(document) else { continue }
            told += try addressedEvents(
                of: document, beyond: Vector(), isWatched, &stage, in: world)
        }
        // Who hears of it for the first time has nothing of it to hide.
        return (told.filter { $0.event.kind != .hide }, next)
    }

    /// Whether a conversation or an item is here that is or was the user's.
    ///
    /// Where not, nothing is told to the user, however much of the shard is read: of a
    /// conversation that they have left they are told that they have, and of an item that it is
    /// deleted.
    func concerns(_ user: UserID, in world: ShardWorld) -> Bool {
        guard !isPending(concerning: user) else { return true }
        do throws(StoreFailure) {
            for (kind, term) in Term.concerning(user) {
                let keys = try world.reader.keys(
                    of: kind, carrying: term, in: copy.shard, partition: nil)
                guard keys.isEmpty else { return true }
            }
            return false
        } catch {
            return true
        }
    }

    /// Whether something of the user's is about to be on disk.
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

    /// What surrounds what changed; nil where nobody who is watched has to do with it.
    private mutating func eventContext(
        of change: DocumentChange, _ isWatched: (UserID) -> Bool, _ stage: inout Stage,
        in world: ShardWorld
    ) throws(StoreFailure) -> EventContext? {
        let document = change.after
        let time = HybridTimestamp(milliseconds: world.judge.wallMilliseconds)
        if let room = document.conversation {
            // Who was ever in it is in one of the two.
            let isMeant =
                room.participants.elements.contains(where: isWatched)
                || room.participants.removed.contains(where: isWatched)
            return isMeant ? EventContext(room: room, progress: Progress(), time: time) : nil
        }
        if let item = document.item {
            let owners = [item.owner, change.before?.item?.owner].compactMap(\.self)
            guard owners.contains(where: isWatched) else { return nil }
            return EventContext(room: nil, progress: Progress(), time: time)
        }
        if document.profile != nil {
            return EventContext(room: nil, progress: Progress(), time: time)
        }
        guard let id = ConversationID(document.key.partition),
            let room = try room(id, &stage, in: world),
            room.participants.elements.contains(where: isWatched)
        else { return nil }
        var progress = Progress()
        if document.message != nil {
            progress = try self.progress(of: id, room, &stage, in: world)
        }
        return EventContext(room: room, progress: progress, time: time)
    }

    private mutating func room(
        _ id: ConversationID, _ stage: inout Stage, in world: ShardWorld
    ) throws(StoreFailure) -> Conversation? {
        if let room = stage.rooms[id] { return room.conversation }
        let (key, shard) = (DocumentKey.conversation(id), copy.shard)
        let found: Document?
        if documents.pending[key] == nil {
            found = try documents.find(key, in: shard, reader: world.reader)?.document
        } else {
            found = try documents.stored(key) { () throws(StoreFailure) in nil }
        }
        stage.rooms[id] = found
        return found?.conversation
    }

    private func progress(
        of id: ConversationID, _ room: Conversation, _ stage: inout Stage, in world: ShardWorld
    ) throws(StoreFailure) -> Progress {
        if let progress = stage.progress[id] { return progress }
        let participantStates = try world.reader.participantStates(of: id, in: copy.shard)
            .compactMap { document in
                UserID(document.key.id).flatMap { user in
                    document.participantState.map { (user: user, participantState: $0) }
                }
            }
        let progress = Progress(of: participantStates, in: room)
        stage.progress[id] = progress
        for (user, participantState) in participantStates {
            if let vector = room.hiddenVector(of: user, in: participantState) {
                stage.hidden[id, default: [:]][user] = vector
            }
        }
        return progress
    }
}

extension Document {
    /// The conversation that it is; nil where it is none, or nobody who is meant is in it.
    func conversationID(among isMeant: (UserID) -> Bool) -> ConversationID? {
        guard let participants = conversation?.participants.elements,
            participants.contains(where: isMeant)
        else { return nil }
        return ConversationID(key.partition)
    }
}
