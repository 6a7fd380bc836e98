import CRDT
import Chat
import StorePort
import TestKit
import Testing
import Wire

@testable import Node
@testable import Replication

extension Ownership {
    /// Ownership without any other node.
    static let sole = Ownership(me: n1, owners: [n1], livingOwners: 1, others: [])
    static let two = Ownership(me: n1, owners: [n1, n2], livingOwners: 2, others: [n2])

    private static let n1 = NodeName(checked: "n1")
    private static let n2 = NodeName(checked: "n2")
}

extension Chat.Event.Kind {
    var shortName: String {
        switch self {
        case .message: "message"
        case .member: "member"
        case .delete: "delete"
        case .restore: "restore"
        default: "other"
        }
    }
}

private let bob = UserID(checked: "bob")

private func createForBoth() -> Mutation {
    Mutation(
        CreateConversation(participants: [alice, bob], title: nil), in: lobby,
        by: alice)
}

private func blocked(_ user: UserID) throws -> BlockedSenders {
    var reader = ByteReader([BlockView(user: user, since: .zero)].encoded[...])
    return try BlockedSenders(from: &reader)
}

/// A shard's machine with a disk in memory, driven by a seed, beside a naive model of it.
struct Driven {
    var machine: ShardMachine
    let store = MemoryStore()
    let entropy: SeededEntropy
    var operations = OperationSource(process: RandomID(high: 5, low: 5))
    var now: UInt64 = 1_000
    var ticket: UInt64 = 0
    var random: SplitMix64
    /// Every document, as the mutations and merges so far leave it.
    var model: [DocumentKey: Document] = [:]
    var number: UInt64 = 0

    /// - Parameter fanOutBits: few, so that a dozen messages make counted runs of all levels.
    init(seed: UInt64, fanOutBits: Int = 1) {
        machine = ShardMachine(
            ShardID(0), of: 1, stored: ReplicaHeader(isComplete: false), ownership: .sole,
            life: 0, now: now, fanOutBits: fanOutBits)
        machine.found()
        entropy = SeededEntropy(seed: seed)
        random = SplitMix64(seed: seed)
    }

    var world: ShardWorld {
        ShardWorld(
            milliseconds: now,
            judge: Judge(wallMilliseconds: 1_000_000 + now, editWindowMilliseconds: 900_000),
            entropy: entropy, reader: store)
    }

    mutating func submit(_ mutation: Mutation) {
        number += 1
        do {
            operations.observe(machine.greatestTime, at: world.judge.wall)
            let stamp = operations.next(at: world.judge.wall)
            let accepted = try machine.submit(
                Operation(mutation, stamp), for: ReplySlot(session: 1, number: number),
                level: .local, in: world)
            if let document = accepted.document { model[document.key] = document }
        } catch {
            return
        }
    }

    mutating func step(_ remote: inout [EncodedDocument]) throws {
        now += UInt64(random.below(3))
        let id = MessageID(checked: "m\(random.below(12))")
        switch random.below(12) {
        case 0...3:
            submit(send(id.text))
        case 4:
            submit(Mutation(EditMessage(text: "text \(now)"), of: id, in: lobby, by: alice))
        case 5: submit(Mutation(HideMessage(), of: id, in: lobby, by: alice))
        case 6: submit(Mutation(RestoreMessage(), of: id, in: lobby, by: alice))
        case 7 where random.below(4) == 0:
            submit(Mutation(MarkRead(id), in: lobby, by: bob))
        case 7 where random.below(8) == 0:
            submit(Mutation(HideChat(), in: lobby, by: bob))
        case 7: submit(Mutation(RetractMessage(), of: id, in: lobby, by: alice))
        case 8 where !remote.isEmpty:
            let encodedDocument = random.pick(remote)
            try machine.receive(
                .push(ShardID(0), [encodedDocument], cause: Vector()),
                from: NodeName(checked: "n2"),
                in: world)
            let key = try DocumentKey.decode(encodedDocument.key)
            let theirs = try Document(key, decoding: encodedDocument.bytes)
            var merged = model[key] ?? theirs
            merged.merge(theirs)
            model[key] = merged
        case 9, 10: commit()
        default: complete()
        }
    }

    mutating func commit() {
        ticket += 1
        guard let write = machine.takeWrite(ticket) else { return }
        store.commit([write], drops: [], settings: [], ticket: ticket)
    }

    mutating func complete() {
        guard let ticket = store.completeFirst() else { return }
        _ = machine.onCommitted(ticket, now: now)
    }

    mutating func settle() {
        commit()
        while !store.waiting.isEmpty { complete() }
    }

    /// Returns the events that alice receives once these documents have come.
    mutating func told(_ encodedDocuments: [EncodedDocument]) throws -> [String] {
        let push = Frame.push(ShardID(0), encodedDocuments, cause: Vector())
        try machine.receive(push, from: NodeName(checked: "n2"), in: world)
        settle()
        guard case .told(let told) = try machine.takeNews(for: { $0 == alice }, in: world)
        else { return ["too much"] }
        return told.map(\.event.kind.shortName)
    }

    /// Returns the events that alice receives beyond what she knows, read by read.
    mutating func read(beyond known: Vector) throws -> [[String]] {
        var reads: [[String]] = []
        var place: FeedScan.Place? = .changes(after: nil)
        while let at = place {
            let batch = try machine.addressedEvents(
                beyond: known, skipping: known, upTo: machine.feedPosition, at: at, for: nil,
                to: { $0 == alice }, in: world)
            reads.append(batch.told.map(\.event.kind.shortName))
            place = batch.next
        }
        return reads
    }

    mutating func page(_ place: HistoryQuery.Place, limit: Int) throws -> [String] {
        let slot = ReplySlot(session: 2, number: 0)
        let (findings, _) = try machine.answer(
            AnyQuery(HistoryQuery(lobby, place: place, limit: limit)), for: alice, slot: slot,
            in: world)
        guard let views: [MessageView] = findings.value() else { return [] }
        return views.map { "\($0.id) \($0.text)" }
    }

    /// Returns the number of messages that a user has not read.
    mutating func unread(of user: UserID) throws -> Int {
        let slot = ReplySlot(session: 2, number: 0)
        let (findings, _) = try machine.answer(
            AnyQuery(UnreadQuery()), for: user, slot: slot, in: world)
        guard let counts: [UnreadCount] = findings.value() else { return -1 }
        return counts.reduce(0) { $0 + $1.count }
    }

    /// Returns the newest message that a user's list shows.
    mutating func preview(
        of user: UserID, without senders: BlockedSenders = .none
    ) throws -> MessageID? {
        let slot = ReplySlot(session: 2, number: 0)
        let query = AnyQuery(ChatsQuery(.all), without: senders)
        let (findings, _) = try machine.answer(query, for: user, slot: slot, in: world)
        guard let chats: [ChatView] = findings.value() else { return nil }
        return chats.first?.last?.id
    }

    mutating func page(
        of user: UserID, bytesMax: Int
    ) throws -> (messages: [MessageView], goesOn: Bool) {
        let slot = ReplySlot(session: 2, number: 0)
        let query = AnyQuery(
            HistoryQuery(lobby, place: .newest, limit: 1_000, bytesMax: bytesMax))
        let (findings, _) = try machine.answer(query, for: user, slot: slot, in: world)
        let (page, next) = findings.base.page(
            ListPage(historyCut: HistoryCut(isForward: false, bytesMax: bytesMax)))
        guard let messages: [MessageView] = page.value() else { return ([], false) }
        return (messages, next != nil)
    }

    /// Whether a user has answered another one.
    mutating func knows(_ other: UserID, _ user: UserID) throws -> Bool {
        let slot = ReplySlot(session: 2, number: 0)
        let question = Acquaintance.Question(
            beside: ConversationID(checked: "another"), others: [other])
        let (findings, _) = try machine.answer(
            AnyQuery(AcquaintanceQuery(question)), for: user, slot: slot, in: world)
        guard let acquaintance: Acquaintance = findings.value() else { return false }
        return acquaintance.knows(other)
    }

    /// Returns what a user sees according to the model, oldest first, without what the user hides.
    private func shown(to user: UserID) -> [(position: HistoryPosition, message: Message)] {
        guard let room = model[.conversation(lobby)]?.conversation else { return [] }
        let hidden = room.hiddenVector(
            of: user, in: model[.participantState(user, in: lobby)]?.participantState)
        return model.values.compactMap { document in
            guard let position = document.historyPosition, let message = document.message,
                message.isShown(to: user, among: room.participants),
                !document.isSent(within: hidden)
            else { return nil }
            return (position, message)
        }.sorted { $0.position < $1.position }
    }

    func modelUnread(of user: UserID) -> Int {
        let room = model[.conversation(lobby)]?.conversation
        let read = room?.readPosition(
            of: user, in: model[.participantState(user, in: lobby)]?.participantState)
        return shown(to: user).count { position, message in
            message.header.sender != user && read.map { $0 < position } ?? true
        }
    }

    func modelPreview(of user: UserID) -> MessageID? { shown(to: user).last?.position.id }

    /// Returns the same page from the model.
    func modelPage(_ place: HistoryQuery.Place, limit: Int) -> [String] {
        guard let participants = model[.conversation(lobby)]?.conversation?.participants else {
            return []
        }
        let messages = model.values.compactMap { document -> (HistoryPosition, MessageView)? in
            guard let position = document.historyPosition,
                let view = document.message?.view(
                    as: position.id, for: alice, among: participants)
            else { return nil }
            return (position, view)
        }.sorted { $0.0 < $1.0 }
        func position(of id: MessageID) -> HistoryPosition? {
            model[.message(id, in: lobby)]?.historyPosition
        }
        let shown: ArraySlice<(HistoryPosition, MessageView)>
        switch place {
        case .newest: shown = messages.suffix(limit)
        case .before(let id):
            shown =
                position(of: id).map { bound in
                    messages.filter { $0.0 < bound }.suffix(limit)
                } ?? []
        case .after(let id):
            shown =
                position(of: id).map { bound in
                    messages.filter { bound < $0.0 }.prefix(limit)
                } ?? []
        }
        return shown.map { "\($0.1.id) \($0.1.text)" }
    }
}

@Suite struct ShardMachineTests {
    /// Returns what another node wrote of the same messages: earlier and later sendings, edits,
    /// deletions.
    private static func encodedDocuments(seed: UInt64) -> [EncodedDocument] {
        var other = Driven(seed: seed &+ 1_000_000)
        other.machine.onPeerUp(NodeName(checked: "n1"))
        other.now = seed % 2 == 0 ? 900 : 1_020
        other.submit(create())
        var none: [EncodedDocument] = []
        var sent: [EncodedDocument] = []
        for _ in 0..<60 {
            do { try other.step(&none) } catch { break }
            for (_, frame) in other.machine.takeOutbox() {
                if case .push(_, let encodedDocuments, _) = frame { sent += encodedDocuments }
            }
        }
        return sent
    }

    @Test func `pages, records and headers equal a naive model, whatever is on its way to disk`()
        throws
    {
        for seed in UInt64(0)..<150 {
            var driven = Driven(seed: seed)
            driven.machine.onPeerUp(NodeName(checked: "n2"))
            var remote = Self.encodedDocuments(seed: seed)
            #expect(!remote.isEmpty)
            driven.submit(createForBoth())
            for _ in 0..<80 {
                try driven.step(&remote)
                let limit = 1 + driven.random.below(8)
                let places: [HistoryQuery.Place] =
                    [.newest]
                    + driven.model.keys.filter { $0.kind == .message }.sorted().flatMap { key in
                        MessageID(key.id).map { [.before($0), .after($0)] } ?? []
                    }
                let place = driven.random.pick(places)
                let page = try driven.page(place, limit: limit)
                #expect(page == driven.modelPage(place, limit: limit), "seed \(seed) \(place)")
                for user in [alice, bob] {
                    let unread = try driven.unread(of: user)
                    #expect(unread == driven.modelUnread(of: user), "seed \(seed) \(user)")
                    let preview = try driven.preview(of: user)
                    #expect(preview == driven.modelPreview(of: user), "seed \(seed) \(user)")
                }
            }
            driven.settle()
            check(driven, seed)
        }
    }

    private func check(_ driven: Driven, _ seed: UInt64) {
        let stored = driven.store.documents[ShardID(0)] ?? [:]
        #expect(driven.store.lies.isEmpty, "seed \(seed)")
        #expect(stored.mapValues(\.bytes) == driven.model.mapValues(\.encoded), "seed \(seed)")
        var (digest, vector) = (Hash128.zero, Vector())
        for document in driven.model.values {
            digest += Document.digest(of: document.key, bytes: document.encoded)
            vector.insert(document.changedBy)
        }
        let header = driven.machine.replica.stored
        #expect(header == driven.store.headers[ShardID(0)])
        #expect(header.digest == digest, "seed \(seed)")
        #expect(header.documents == UInt64(driven.model.count), "seed \(seed)")
        #expect(header.vector.covers(vector), "seed \(seed)")
        #expect(driven.machine.documents.pending.isEmpty)
        for (key, run) in driven.store.runs {
            var counts = MessageCounts()
            for document in driven.model.values
            where document.historyTime >= run.start && document.historyTime < run.end {
                counts.add(document)
            }
            #expect(counts.countsSame(as: run.counts), "seed \(seed) level \(key.level)")
        }
    }

    @Test func `a count costs the same however long a conversation is`() throws {
        var costs: [Int] = []
        for messages in [300, 4_800] {
            var driven = Driven(seed: 3, fanOutBits: 4)
            driven.submit(createForBoth())
            for number in 0..<messages {
                driven.now += 1
                driven.submit(send("m\(number)"))
                if number % 100 == 99 { driven.settle() }
            }
            driven.settle()
            driven.store.rowsRead = 0
            #expect(try driven.unread(of: bob) == messages)
            #expect(try driven.preview(of: bob) == MessageID(checked: "m\(messages - 1)"))
            costs.append(driven.store.rowsRead)
            driven.store.rowsRead = 0
            #expect(try driven.preview(of: bob, without: try blocked(alice)) == nil)
            costs.append(driven.store.rowsRead)
            driven.store.rowsRead = 0
            #expect(try !driven.knows(alice, bob))
            #expect(try driven.knows(bob, alice))
            costs.append(driven.store.rowsRead)
            driven.store.rowsRead = 0
            let (page, goesOn) = try driven.page(of: bob, bytesMax: 4_000)
            #expect(goesOn && page.last?.id == MessageID(checked: "m\(messages - 1)"))
            #expect(page.reduce(0) { $0 + $1.encoded.count } > 3_900)
            costs.append(driven.store.rowsRead)
        }
        // On all four levels, and after the last run, about 16 rows each.
        #expect(costs.allSatisfy { $0 < 300 }, "\(costs)")
    }

    @Test func `changes of one document in one turn are each sent, and stored once`() throws {
        var driven = Driven(seed: 1)
        driven.machine.setOwnership(.two, now: 0)
        driven.machine.onPeerUp(NodeName(checked: "n2"))
        driven.submit(create())
        driven.submit(send("m1"))
        driven.submit(
            Mutation(HideMessage(), of: MessageID(checked: "m1"), in: lobby, by: alice))
        driven.ticket += 1
        let taken = driven.machine.takeWrite(driven.ticket)
        let write = try #require(taken)
        #expect(write.records.map(\.key.id) == ["", "m1"])
        var named = Vector()
        for (_, frame) in driven.machine.takeOutbox() {
            guard case .push(_, let encodedDocuments, _) = frame else { continue }
            for encodedDocument in encodedDocuments {
                let key = try DocumentKey.decode(encodedDocument.key)
                named.insert(try Document(key, decoding: encodedDocument.bytes).changedBy)
            }
        }
        #expect(named == write.header.vector)
    }

    @Test(arguments: [1, 63, 64, 65, 200])
    func `what came before its conversation is told with it, and to who comes back`(
        count: Int
    ) throws {
        var driven = Driven(seed: 5)
        driven.machine.onPeerUp(NodeName(checked: "n2"))
        let sent = try Self.conversation(of: count)
        let room = try sent.filter { try DocumentKey.decode($0.key).kind == .conversation }
        let messages = try sent.filter { try DocumentKey.decode($0.key).kind == .message }
        #expect(try driven.told(messages).isEmpty)
        let known = driven.machine.replica.stored.vector
        let all = ["member"] + Array(repeating: "message", count: count)
        // More than a page is not published at once: each feed reads it.
        #expect(try driven.told(room) == (count < 64 ? all : ["too much"]))
        #expect(driven.machine.feedPosition == driven.machine.replica.stored.vector)
        let reads = try driven.read(beyond: known)
        #expect(reads.flatMap(\.self) == all)
        #expect(reads.allSatisfy { $0.count <= 64 })
    }

    @Test(arguments: UInt64(1)...5)
    func `what several replicas changed is told once by a scan, in however many batches`(
        seed: UInt64
    ) throws {
        var driven = Driven(seed: seed)
        driven.machine.onPeerUp(NodeName(checked: "n2"))
        driven.store.changesBytesMax = 1
        _ = try driven.told(try Self.conversation(of: 3))
        let m1 = MessageID(checked: "m1")
        driven.submit(Mutation(PinMessage(), of: m1, in: lobby, by: alice))
        driven.submit(Mutation(InviteUser(bob), in: lobby, by: alice))
        driven.settle()
        driven.machine.dropAddressedEvents()
        let record = driven.store.documents[ShardID(0)]?[.message(m1, in: lobby)]
        #expect(record?.changedBy.dots.count == 2)
        // A receiver that knows something, but not the conversation, reads it in pages as well.
        var other = Vector()
        other.insert(Dot(replica: RandomID(high: 9, low: 9), seq: 1))
        for known in [Vector(), other] {
            let told = try driven.read(beyond: known).flatMap(\.self)
            #expect(told.count { $0 == "message" } == 3)
            #expect(told.count { $0 == "member" } == 2)
        }
    }

    /// Returns what another replica has pushed of a conversation with `count` messages.
    static func conversation(of count: Int) throws -> [EncodedDocument] {
        var other = Driven(seed: 6)
        other.machine.setOwnership(.two, now: 0)
        other.machine.onPeerUp(NodeName(checked: "n2"))
        other.submit(create())
        for number in 1...count { other.submit(send("m\(number)")) }
        return pushed(by: &other, 1)
    }

    private static func pushed(by other: inout Driven, _ ticket: UInt64) -> [EncodedDocument] {
        _ = other.machine.takeWrite(ticket)
        return other.machine.takeOutbox().flatMap { _, frame in
            if case .push(_, let encodedDocuments, _) = frame {
                encodedDocuments
            } else {
                [EncodedDocument]()
            }
        }
    }

    /// Returns what a pull brings of a message that was pinned before it: documents as they are,
    /// which do not name the seqs that they replace, here that of the sending.
    private static func pulled(from other: inout Driven) -> [EncodedDocument] {
        other.machine.setOwnership(.two, now: 0)
        other.machine.onPeerUp(NodeName(checked: "n2"))
        other.submit(create())
        other.submit(send("m1"))
        let pin = PinMessage()
        other.submit(Mutation(pin, of: MessageID(checked: "m1"), in: lobby, by: alice))
        let states = Dictionary(pushed(by: &other, 1).map { ($0.key, $0.bytes) }) { $1 }
        return states.sorted { $0.key.count < $1.key.count }.map {
            EncodedDocument(key: $0.key, bytes: $0.value)
        }
    }

    @Test func `a hiding covers a message of which the sending was replaced before it came`() throws
    {
        var (other, driven) = (Driven(seed: 6), Driven(seed: 5))
        driven.machine.onPeerUp(NodeName(checked: "n2"))
        #expect(try driven.told(Self.pulled(from: &other)).contains("message"))
        #expect(try driven.page(.newest, limit: 5).count == 1)
        driven.submit(Mutation(HideChat(), in: lobby, by: alice))
        #expect(try driven.page(.newest, limit: 5).isEmpty)
    }

    @Test func `a scan tells a message that a change alters which waits for its causes`() throws {
        let (m1, n2) = (MessageID(checked: "m1"), NodeName(checked: "n2"))
        var other = Driven(seed: 6)
        let first = Self.pulled(from: &other)
        other.submit(Mutation(RestoreMessage(), of: m1, in: lobby, by: alice))
        other.submit(send("m2"))
        let second = Self.pushed(by: &other, 2)

        var driven = Driven(seed: 5)
        driven.machine.onPeerUp(n2)
        #expect(try driven.told(first).contains("message"))
        var cause = Vector()
        cause.insert(Dot(replica: RandomID(high: 9, low: 9), seq: 1))
        try driven.machine.receive(
            .push(ShardID(0), second, cause: cause), from: n2, in: driven.world)
        driven.settle()
        #expect(try driven.told([]).isEmpty && driven.machine.isHoldingBack)
        // The message that the change brings is left to the live feed.
        #expect(try driven.read(beyond: Vector()).flatMap(\.self).count { $0 == "message" } == 1)
        driven.now += 3_000
        #expect(try driven.told([]) == ["message"])
    }

    /// The deletion crossed a change of another node, which had not seen it.
    @Test func `a deletion is told before the restore of its sender, which came with it`() throws {
        let (m1, n2) = (MessageID(checked: "m1"), NodeName(checked: "n2"))
        var (other, driven) = (Driven(seed: 6), Driven(seed: 5))
        driven.machine.onPeerUp(n2)
        _ = try driven.told(Self.pulled(from: &other))
        for action: any MessageAction in [RetractMessage(), RestoreMessage()] {
            driven.submit(Mutation(action, of: m1, in: lobby, by: alice))
        }
        #expect(try driven.told([]) == ["delete", "restore"])
        for action: any MessageAction in [HideMessage(), RestoreMessage()] {
            other.submit(Mutation(action, of: m1, in: lobby, by: alice))
        }
        let told = try driven.told(Self.pushed(by: &other, 2))
        #expect(told.suffix(2) == ["delete", "restore"])
    }

    @Test func `what depends on a document that a full disk refused waits for it`() throws {
        let documents = try Self.conversation(of: 2)
        let n2 = NodeName(checked: "n2")
        var driven = Driven(seed: 5)
        driven.machine.onPeerUp(n2)
        _ = try driven.told([documents[0]])
        driven.machine.isDiskFull = true
        #expect(try driven.told([documents[1]]).isEmpty)
        driven.machine.isDiskFull = false
        #expect(try driven.told([documents[2]]).isEmpty && driven.machine.isHoldingBack)
        let isCompleteBefore = driven.machine.replica.isCausallyComplete(now: driven.now)
        #expect(!isCompleteBefore)
        #expect(try driven.told([documents[1]]) == ["message", "message"])
        let isCompleteAfter = driven.machine.replica.isCausallyComplete(now: driven.now)
        #expect(isCompleteAfter && !driven.machine.isHoldingBack)
    }

    @Test func `a document of another shard, or that is none, is a bad frame and changes nothing`()
        throws
    {
        var driven = Driven(seed: 2)
        driven.machine = ShardMachine(
            ShardID(0), of: 4_096, stored: ReplicaHeader(isComplete: true), ownership: .sole,
            life: 0, now: 0)
        driven.machine.onPeerUp(NodeName(checked: "n2"))
        var random = TestBytes(seed: 9)
        let good = Self.encodedDocuments(seed: 3)
        for round in 0..<20_000 {
            let encodedDocument = good[round % good.count]
            let damaged = EncodedDocument(
                key: round % 2 == 0 ? encodedDocument.key : random.damaged(encodedDocument.key),
                bytes: round % 3 == 0
                    ? encodedDocument.bytes : random.damaged(encodedDocument.bytes))
            #expect(throws: ShardFailure.self) {
                try driven.machine.receive(
                    .push(ShardID(0), [damaged], cause: Vector()), from: NodeName(checked: "n2"),
                    in: driven.world)
            }
        }
        #expect(driven.machine.replica.isSettled)
    }

    @Test func `damaged documents of the right shard never trap`() {
        var driven = Driven(seed: 4)
        driven.machine.onPeerUp(NodeName(checked: "n2"))
        var random = TestBytes(seed: 10)
        let good = Self.encodedDocuments(seed: 3)
        var merged = 0
        for round in 0..<5_000 {
            let encodedDocument = good[round % good.count]
            let damaged = EncodedDocument(
                key: encodedDocument.key, bytes: random.damaged(encodedDocument.bytes))
            let frame = Frame.push(ShardID(0), [damaged], cause: Vector())
            do {
                try driven.machine.receive(frame, from: NodeName(checked: "n2"), in: driven.world)
                merged += 1
            } catch {
                continue
            }
        }
        #expect(merged > 0)
        driven.settle()
        #expect(driven.machine.replica.isSettled)
    }
}
