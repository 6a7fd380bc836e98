import CRDT
import Chat
import Replication
import Testing
import Wire

@testable import Node

/// The files of a user whose account is deleted.
@Suite struct DepartedUserTests {
    private static let bob = UserID(checked: "bob")

    private let world = NodeWorld()
    private let nodes: [WorldNode]

    init() {
        var nodes = [world.add("n1", evictAfterMilliseconds: nil, mayBlock: true)]
        for name in ["n2", "n3"] {
            nodes.append(
                world.add(
                    name, join: ["n1"], shards: nil, evictAfterMilliseconds: nil, mayBlock: true))
        }
        self.nodes = nodes
        world.run(milliseconds: 2_000)
        let room = CreateConversation(participants: [alice, Self.bob], title: nil)
        make(Mutation(room, in: lobby, by: alice), 1)
        upload("f1", by: alice, 2)
        upload("f2", by: alice, 4)
        upload("f3", by: Self.bob, 6)
    }

    private func make(
        _ mutation: Mutation, _ number: UInt64, at index: Int = 0, level: AckLevel = .majority
    ) {
        nodes[index].handle(mutation, number: number, level: level)
        world.endTurn(of: nodes[index])
        world.run(milliseconds: 300)
        #expect(nodes[index].sink.outcomes[number] != nil)
    }

    private func upload(_ name: String, by user: UserID, _ number: UInt64) {
        let file = FileID(checked: name)
        make(
            Mutation(BeginUpload(type: FieldText("image/png")), of: file, in: lobby, by: user),
            number)
        make(Mutation(EndUpload(size: 0, parts: []), of: file, in: lobby, by: user), number + 1)
    }

    private func sending(of file: String) -> Mutation {
        let send = SendMessage(
            type: .image, item: nil, text: "", Attachment(FileID(checked: file), preview: nil))
        return Mutation(send, of: MessageID(checked: "m-\(file)"), in: lobby, by: alice)
    }

    /// Whether a file can be read at a node.
    private func isOpen(_ file: String, _ number: UInt64, at index: Int = 0) -> Bool {
        let query = FileQuery(FileID(checked: file), in: lobby)
        nodes[index].handle(query, of: "bob", number: number)
        world.endTurn(of: nodes[index])
        world.run(milliseconds: 300)
        return nodes[index].sink.outcomes[number].findings(as: FileView.self) != nil
    }

    private func cut(_ index: Int) {
        for node in nodes where node.name != nodes[index].name {
            #expect(nodes[index].block(node.name) == nil)
        }
        world.run(milliseconds: 9_000)
    }

    private func heal(_ index: Int) {
        #expect(nodes[index].unblock(nil) == nil)
        world.run(milliseconds: 4_000)
    }

    @Test func `are closed at once where they were not sent, and nobody else's`() {
        make(sending(of: "f2"), 10)
        make(Mutation(.revoke(alice, through: HybridTimestamp(milliseconds: 5))), 11, at: 1)
        world.run(milliseconds: 4_000)
        // Only sign-ins have ended.
        #expect(isOpen("f1", 12))
        make(Mutation(.revoke(alice, through: SigningTable.deletionNow)), 13, at: 1)
        world.run(milliseconds: 4_000)
        for index in nodes.indices {
            #expect(!isOpen("f1", 14, at: index))
            #expect(isOpen("f2", 15, at: index))
            #expect(isOpen("f3", 16, at: index))
        }
        // An account of the same name that is added later is another one.
        upload("f4", by: alice, 17)
        world.run(milliseconds: 4_000)
        #expect(isOpen("f4", 19))
    }

    @Test func `are closed where the clock by which the sign-ins ended was ahead`() {
        let ahead = world.clock.wallMilliseconds + 400
        make(Mutation(.revoke(alice, through: HybridTimestamp(milliseconds: ahead))), 10)
        make(Mutation(.revoke(alice, through: SigningTable.deletionNow)), 11)
        world.run(milliseconds: 4_000)
        #expect(!isOpen("f1", 12) && isOpen("f3", 13))
    }

    @Test(arguments: [true, false])
    func `wait for the owner that may have accepted a message with them`(isSentFirst: Bool) {
        cut(2)
        if isSentFirst { make(sending(of: "f1"), 20, at: 2, level: .local) }
        make(Mutation(.revoke(alice, through: SigningTable.deletionNow)), 21)
        world.run(milliseconds: 4_000)
        #expect(isOpen("f1", 22) && isOpen("f2", 23))
        if !isSentFirst { make(sending(of: "f1"), 24, at: 2, level: .local) }
        heal(2)
        for index in nodes.indices {
            #expect(isOpen("f1", 25, at: index))
            #expect(!isOpen("f2", 26, at: index))
            #expect(isOpen("f3", 27, at: index))
        }
    }
}
