import CRDT
import Placement
import Replication
import Testing
import Wire

@testable import Chat
@testable import Node

private let bob = UserID(checked: "bob")
private let phone = DeviceID(checked: "phone")
private let rooms = (1...4).map { ConversationID(checked: "room\($0)") }

/// Nodes, by default three that each hold a replica of every shard.
private final class Team {
    let world = NodeWorld()
    let nodes: [WorldNode]
    private var number: UInt64 = 100

    init(_ count: Int = 3, replicas: Replicas = .all, shards: UInt16 = 8) {
        var nodes = [
            world.add("n1", shards: shards, replicas: replicas, mayBlock: true)
        ]
        for number in 1..<count {
            nodes.append(
                world.add(
                    "n\(number + 1)", join: ["n1"], shards: nil, replicas: nil, mayBlock: true))
        }
        self.nodes = nodes
        world.run(milliseconds: 5_000)
        for room in rooms {
            ask(
                Mutation(
                    CreateConversation(participants: [alice, bob], title: nil),
                    in: room,
                    by: alice))
        }
        ask(AddDevice(FieldText("t")))
        // Between nodes the millisecond decides, whatever came first within it.
        world.clock.pass(1)
    }

    @discardableResult func ask(
        _ mutation: Mutation, at index: Int = 0, level: AckLevel = .majority
    ) -> ReplyResult? {
        number += 1
        nodes[index].handle(mutation, number: number, level: level)
        return finish(index)
    }

    @discardableResult func ask(
        _ action: any DeviceAction, at index: Int = 0, level: AckLevel = .majority
    ) -> ReplyResult? {
        ask(Mutation(action, on: phone, by: bob), at: index, level: level)
    }

    func list(at index: Int = 0, level: AckLevel = .majority) -> ReplyResult? {
        number += 1
        let slot = ReplySlot(session: 1, number: number)
        nodes[index].run { $0.notify(phone, of: bob, level: level, for: slot) }
        return finish(index)
    }

    private func finish(_ index: Int) -> ReplyResult? {
        world.endTurn(of: nodes[index])
        world.settle()
        if nodes[index].sink.outcomes[number] == nil { world.run(milliseconds: 4_000) }
        return nodes[index].sink.outcomes[number]
    }

    func send(_ id: String, in room: Int = 0, at index: Int = 0, level: AckLevel = .majority) {
        ask(Grapes.send(id, in: rooms[room]), at: index, level: level)
        world.clock.pass(1)
    }

    /// The indexes of the nodes that hold the shard of a partition key.
    func owners(of partition: String) -> [Int] {
        let shard = DocumentKey.conversation(ConversationID(checked: partition)).shard(of: 8)
        let names = Set(nodes[0].owners(of: shard.number))
        return nodes.indices.filter { names.contains(nodes[$0].name) }
    }

    /// Cuts the connection between two nodes and no other.
    func cutLink(_ one: Int, _ other: Int) {
        for (from, to) in [(one, other), (other, one)] {
            let name = NodeName(checked: nodes[to].name)
            nodes[from].run { _ = $0.block(name, .both) }
        }
        world.run(milliseconds: 8_000)
    }

    /// Cuts the nodes `left` off from all others, in both directions.
    func cut(_ left: [Int], isCut: Bool = true) {
        for (index, node) in nodes.enumerated() {
            for (other, peer) in nodes.enumerated()
            where other != index && left.contains(index) != left.contains(other) {
                node.run { node in
                    let name = NodeName(checked: peer.name)
                    if isCut { _ = node.block(name, .both) } else { _ = node.unblock(name) }
                }
            }
        }
        world.run(milliseconds: 8_000)
    }
}

/// An account of bob's, with a sign-in.
private struct TestAccount {
    private static let address = AddressID(checked: "a1")
    private static let id = SignInID(checked: "s1")

    private func mutation(_ action: any CredentialsAction) -> Mutation {
        Mutation(action, at: TestAccount.address, of: bob)
    }

    var signUp: Mutation {
        mutation(SignUp(email: FieldText("b@example.org"), password: FieldText("hash")))
    }
    var begin: Mutation {
        mutation(BeginSignIn(TestAccount.id, SecretDigest(checked: "d1"), judgedBy: nil))
    }
    var end: Mutation { mutation(EndSignIn(TestAccount.id, began: nil)) }

    /// The sign-in as devices name it.
    func signIn(at node: WorldNode) throws -> DeviceSignIn {
        let key = DocumentKey.credentials(TestAccount.address)
        let credentials = try node.store.document(key, in: key.shard(of: 8))?.credentials
        let signIn = try #require(credentials?.account(of: bob)?.signIn(TestAccount.id))
        return DeviceSignIn(
            address: TestAccount.address, id: TestAccount.id, began: signIn.began.time)
    }
}

private enum Grapes {
    static func send(_ id: String, in room: ConversationID) -> Mutation {
        Mutation(
            SendMessage(type: .text, item: nil, text: "hi"), of: MessageID(checked: id),
            in: room,
            by: alice)
    }
}

extension ReplyResult? {
    var views: [NotificationView]? {
        guard let views: [NotificationView] = findings() else { return nil }
        return views
    }

    var shown: [String]? { views?.map(\.message.text) }

    var isPartial: Bool? {
        guard case .answered(.found(_, let isPartial), _) = self else { return nil }
        return isPartial
    }
}

@Suite struct NotificationTests {
    private static let listed = ListedNotification(
        dot: Dot(replica: RandomID(high: 1, low: 2), seq: 3), conversation: lobby,
        message: MessageID(checked: "m"), at: HybridTimestamp(milliseconds: 5),
        among: SeqSet(1...3))

    private static var device: Device? { device(after: []) }

    private static func device(after more: [any DeviceAction]) -> Device? {
        let process = RandomID(high: 1, low: 1)
        let author = Authorship(
            dot: Dot(replica: process, seq: 1),
            stamp: Stamp(
                time: HybridTimestamp(milliseconds: 4), process: process, counter: 1))
        var document = Mutation(AddDevice(FieldText("t")), on: phone, by: bob)
            .applied(to: nil, by: author)
        for action in [
            ViewConversation(lobby),
            ListNotifications([listed], life: nil, since: HybridTimestamp(milliseconds: 4)),
        ] + more {
            document = Mutation(action, on: phone, by: bob).applied(to: document, by: author)
        }
        return document.device
    }

    static let queries: [any Query] =
        [DeviceQuery(phone, of: bob)]
        + [device].compactMap(\.self).compactMap { DueQuery(for: $0, of: bob) }
        + [SignInQuery(signIn, of: bob), HoldersQuery(ofToken: FieldText("t"))]

    private static let signIn = DeviceSignIn(
        address: AddressID(checked: "a1"), id: SignInID(checked: "s1"),
        began: HybridTimestamp(milliseconds: 7))

    static var findings: [any Findings] {
        let candidates = [
            NotificationCandidate(
                conversation: lobby, message: listed.message, from: alice, text: "x",
                entry: listed),
            NotificationCandidate(
                conversation: lobby, message: listed.message, from: alice, text: nil, entry: nil),
        ]
        let notification = NotificationView(
            id: listed.place.id, conversation: lobby, message: listed.message, from: alice,
            text: nil)
        let holder = TokenHolder(
            user: bob, device: phone,
            registered: Stamp(
                time: HybridTimestamp(milliseconds: 5), process: RandomID(high: 1, low: 1),
                counter: 1))
        var findings: [any Findings] = [candidates, [notification]]
        if let device { findings.append(device) }
        findings += SignInStanding.allCases
        findings.append([holder])
        return findings
    }

    private static func entry(_ message: String, _ dot: Dot, at time: UInt64, among: SeqSet)
        -> ListedNotification
    {
        ListedNotification(
            dot: dot, conversation: lobby, message: MessageID(checked: message),
            at: HybridTimestamp(milliseconds: time), among: among)
    }

    private static func candidate(_ entry: ListedNotification, _ text: String = "hi")
        -> NotificationCandidate
    {
        NotificationCandidate(
            conversation: lobby, message: entry.message, from: alice, text: text, entry: entry)
    }

    @Test func `listed by one sending and found by another, it is recorded by both`() throws {
        let device = try #require(NotificationTests.device)
        let other = NotificationTests.entry(
            "m", Dot(replica: RandomID(high: 3, low: 4), seq: 1), at: 9, among: SeqSet())
        let list = NotificationList(of: device, [NotificationTests.candidate(other)])
        #expect(list.views.map(\.id) == [NotificationTests.listed.place.id])
        #expect(list.entries == [other.shown(as: NotificationTests.listed)])
        #expect(list.entries.map(\.place) == [NotificationTests.listed.place])
        #expect(!list.isNew)
    }

    @Test func `what was pushed stays so where another sending is listed under its id`() throws {
        let time = HybridTimestamp(milliseconds: 4)
        for replica in [RandomID(high: 0, low: 1), RandomID(high: 3, low: 4)] {
            let other = NotificationTests.entry(
                "m", Dot(replica: replica, seq: 1), at: 9, among: SeqSet())
            let device = try #require(
                NotificationTests.device(after: [
                    NotePushed(NotificationTests.listed.place.id, as: .message),
                    ListNotifications(
                        [other.shown(as: NotificationTests.listed)], life: nil, since: time),
                ]))
            try #require(device.listed.count == 2)
            let list = NotificationList(of: device, [NotificationTests.candidate(other)])
            #expect(list.views.map(\.isPushed) == [true])
        }
    }

    @Test func `a list that leaves messages out passes over none of them`() throws {
        let device = try #require(NotificationTests.device)
        let replica = RandomID(high: 5, low: 6)
        let first = NotificationTests.entry(
            "a", Dot(replica: replica, seq: 9), at: 6, among: SeqSet(1...9))
        let late = NotificationTests.entry(
            "b", Dot(replica: replica, seq: 8), at: 7, among: SeqSet(1...9))
        let huge = String(repeating: "x", count: NotificationCandidate.bytesMax)
        let list = NotificationList(
            of: device,
            [NotificationTests.candidate(first), NotificationTests.candidate(late, huge)])
        #expect(list.entries == [first.consideringItselfOnly])
        let all = NotificationList(
            of: device, [NotificationTests.candidate(first), NotificationTests.candidate(late)])
        #expect(all.entries == [first, late])
    }

    /// The two owners of a conversation are cut from each other, and each is sent the message.
    @Test func `sent on both sides of a cut, a message is taken off once`() throws {
        let team = Team(5, replicas: .count(2))
        let (room, owners) = try #require(
            rooms.indices.lazy.map { ($0, team.owners(of: rooms[$0].text)) }
                .first { Set($0.1) != Set(team.owners(of: bob.text)) })
        team.cutLink(owners[0], owners[1])
        for owner in owners { team.send("m", in: room, at: owner, level: .local) }
        #expect(team.list(at: owners[0]).shown == ["m"])
        let views = try #require(team.list(at: owners[1]).views)
        #expect(views.map(\.message.text) == ["m"])
        #expect(owners.map { team.list(at: $0).views } == [views, views])
        team.ask(AcknowledgeThrough(views[0].id), at: owners[1])
        #expect(team.list(at: owners[1]).shown == [])
        #expect(team.list(at: owners[0]).shown == [])
    }

    @Test func `what is listed on one node is taken off on another`() throws {
        let team = Team()
        for room in rooms.indices { team.send("m\(room)", in: room, at: room % 3) }
        let views = try #require(team.list(at: 0).views)
        #expect(views.map(\.message.text) == ["m0", "m1", "m2", "m3"])
        team.ask(AcknowledgeThrough(views[2].id), at: 1)
        #expect(team.list(at: 2).shown == ["m3"])
        team.ask(
            Mutation(RetractMessage(), of: MessageID(checked: "m3"), in: rooms[3], by: alice),
            at: 0)
        let last = try #require(team.list(at: 1).views)
        #expect(last.map(\.text) == [nil])
        team.ask(AcknowledgeThrough(last[0].id), at: 2)
        #expect(team.list(at: 0).shown == [])
    }

    @Test func `it is the same where others hold the user, the rooms, or all of them`() throws {
        let team = Team(5, replicas: .count(2))
        for room in rooms.indices { team.send("m\(room)", in: room, at: room) }
        for index in 0..<5 {
            #expect(team.list(at: index).shown == ["m0", "m1", "m2", "m3"])
        }
        let views = try #require(team.list(at: 4).views)
        team.ask(AcknowledgeThrough(views[3].id), at: 3)
        for index in 0..<5 { #expect(team.list(at: index).shown == []) }
    }

    @Test func `a death between loses nothing and shows nothing twice`() throws {
        let team = Team()
        team.send("m0")
        let views = try #require(team.list(at: 0).views)
        team.send("m1", in: 1)
        team.ask(AcknowledgeThrough(views[0].id), at: 0)
        team.world.kill("n1")
        team.world.run(milliseconds: 3_000)
        #expect(team.list(at: 1).shown == ["m1"])
        #expect(team.list(at: 2).shown == ["m1"])
    }

    @Test func `what was shown on a node that died is withdrawn on another`() throws {
        let team = Team()
        team.send("m0")
        #expect(team.list(at: 0).shown == ["m0"])
        team.world.kill("n1")
        team.world.run(milliseconds: 3_000)
        team.ask(
            Mutation(RetractMessage(), of: MessageID(checked: "m0"), in: rooms[0], by: alice),
            at: 1)
        #expect(team.list(at: 2).views?.map(\.text) == [nil])
    }

    @Test func `sent behind a cut before what was taken off, it is listed once it comes`() throws {
        let team = Team()
        team.cut([2])
        team.send("early", in: 0, at: 2, level: .local)
        team.world.run(milliseconds: 2_000)
        team.send("late", in: 0, at: 0)
        team.send("later", in: 1, at: 0)
        let views = try #require(team.list(at: 1).views)
        #expect(views.map(\.message.text) == ["late", "later"])
        team.ask(AcknowledgeThrough(views[1].id), at: 1)
        team.cut([2], isCut: false)
        for index in 0..<3 { #expect(team.list(at: index).shown == ["early"]) }
        let early = try #require(team.list(at: 2).views)
        team.ask(AcknowledgeThrough(early[0].id), at: 2)
        for index in 0..<3 { #expect(team.list(at: index).shown == []) }
    }

    @Test func `what was read is not listed, and what was listed before is withdrawn`() throws {
        let team = Team(5, replicas: .count(2))
        team.send("m0")
        team.send("m1")
        #expect(team.list(at: 1).shown == ["m0", "m1"])
        team.send("m2")
        team.send("m3")
        let read = Mutation(MarkRead(MessageID(checked: "m2")), in: rooms[0], by: bob)
        team.ask(read, at: 3)
        let views = try #require(team.list(at: 2).views)
        #expect(views.map(\.message.text) == ["m0", "m1", "m3"])
        #expect(views.map(\.text) == [nil, nil, "hi"])
        team.ask(AcknowledgeThrough(views[2].id), at: 4)
        for index in 0..<5 { #expect(team.list(at: index).shown == []) }
    }

    @Test func `read behind a cut, it is withdrawn once the sides meet`() throws {
        let team = Team()
        team.send("m0")
        #expect(team.list(at: 0).shown == ["m0"])
        team.cut([2])
        team.ask(
            Mutation(MarkRead(MessageID(checked: "m0")), in: rooms[0], by: bob), at: 2,
            level: .local)
        team.send("m1", in: 1)
        #expect(team.list(at: 1).views?.map(\.text) == ["hi", "hi"])
        team.cut([2], isCut: false)
        for index in 0..<3 { #expect(team.list(at: index).views?.map(\.text) == [nil, "hi"]) }
    }

    @Test func `what was pushed is known on every node`() throws {
        let team = Team(5, replicas: .count(2))
        team.send("m0")
        let views = try #require(team.list(at: 0).views)
        #expect(views.map(\.isPushed) == [false])
        team.ask(NotePushed(views[0].id, as: .message), at: 1)
        for index in 0..<5 { #expect(team.list(at: index).views?.map(\.isPushed) == [true]) }
        team.ask(
            Mutation(RetractMessage(), of: MessageID(checked: "m0"), in: rooms[0], by: alice),
            at: 2)
        #expect(team.list(at: 3).views?.map(\.isPushed) == [false])
        team.ask(NotePushed(views[0].id, as: .withdrawn), at: 4)
        for index in 0..<5 { #expect(team.list(at: index).views?.map(\.isPushed) == [true]) }
    }

    @Test func `a device ends with its sign-in, on the other side of a cut, too`() throws {
        for isCut in [false, true] {
            let team = Team()
            let account = TestAccount()
            team.ask(account.signUp)
            team.ask(account.begin)
            let signIn = try account.signIn(at: team.nodes[0])
            team.ask(RegisterDevice(FieldText("t"), DeviceRegistration(signIn: signIn)))
            team.send("m0")
            for index in 0..<3 { #expect(team.list(at: index).shown == ["m0"]) }
            if isCut { team.cut([2]) }
            team.ask(account.end, at: 2, level: .local)
            if isCut {
                // Nobody on this side can know.
                #expect(team.list(at: 0).shown == ["m0"])
                team.cut([2], isCut: false)
            }
            for index in 0..<3 { #expect(team.list(at: index).views == nil) }
            for node in team.nodes {
                let key = DocumentKey.device(phone, of: bob)
                let device = try node.store.document(key, in: key.shard(of: 8))?.device
                #expect(device?.isRegistered == false)
            }
        }
    }

    @Test func `two devices, one viewing`() throws {
        let team = Team()
        let tablet = Mutation(
            AddDevice(FieldText("t")), on: DeviceID(checked: "tablet"), by: bob)
        team.ask(tablet, at: 1)
        team.ask(
            Mutation(ViewConversation(rooms[0]), on: DeviceID(checked: "tablet"), by: bob), at: 2)
        team.send("m0", at: 1)
        #expect(team.list(at: 2).shown == ["m0"])
    }

    /// A notification that was shown stays until it is acknowledged, whatever arrives later: a
    /// device that has rung for it learns in no other way that it need not ring again.
    @Test func `viewed behind a cut, it stays where it was shown, and is not shown anew`() throws {
        let team = Team()
        team.cut([2])
        team.ask(ViewConversation(rooms[0]), at: 0)
        team.world.clock.pass(1)
        team.send("shown", in: 0, at: 2, level: .local)
        #expect(team.list(at: 2, level: .local).shown == ["shown"])
        team.send("viewed", in: 0, at: 2, level: .local)
        #expect(team.list(at: 0).shown == [])
        team.cut([2], isCut: false)
        for index in 0..<3 { #expect(team.list(at: index).shown == ["shown"]) }
        let shown = try #require(team.list(at: 1).views)
        team.ask(AcknowledgeThrough(shown[0].id), at: 1)
        for index in 0..<3 { #expect(team.list(at: index).shown == []) }
    }

    @Test func `shards that cannot be asked make it partial, and are listed later`() throws {
        let team = Team(4, replicas: .count(1), shards: 16)
        for room in rooms.indices { team.send("m\(room)", in: room, level: .local) }
        let device = ShardID(of: bob.text, count: 16)
        let ownership = rooms.map {
            team.nodes[0].owners(of: ShardID(of: $0.text, count: 16).number)
        }
        let owner = team.nodes[0].owners(of: device.number)
        let victim = try #require(
            (0..<4).first { index in
                owner != [team.nodes[index].name]
                    && ownership.contains([team.nodes[index].name])
            })
        let asker = try #require((0..<4).first { owner == [team.nodes[$0].name] })
        team.cut([victim])
        let part = team.list(at: asker, level: .local)
        #expect(part.isPartial == true)
        let missed = rooms.indices.filter { ownership[$0] == [team.nodes[victim].name] }
        let reached = rooms.indices.filter { !missed.contains($0) }.map { "m\($0)" }
        #expect(part.shown?.sorted() == reached)
        if let last = part.views?.last {
            team.ask(AcknowledgeThrough(last.id), at: asker, level: .local)
        }
        team.cut([victim], isCut: false)
        let rest = team.list(at: asker, level: .local)
        #expect(rest.isPartial == false && rest.shown?.sorted() == missed.map { "m\($0)" })
    }

    @Test func `the stamps of one node are in the order in which it accepts`() throws {
        let team = Team(1)
        for step in 0..<40 {
            team.ask(ViewConversation(step % 2 == 0 ? rooms[step % 4] : nil))
            team.send("m\(step)", in: step % 4)
        }
        // Without a millisecond between the steps, no message is listed while its conversation is
        // viewed.
        #expect(team.list().shown == (0..<40).filter { $0 % 2 == 1 }.map { "m\($0)" })
    }
}
