import Chat
import Membership
import Testing
import Wire

@testable import Node

/// Returns nodes whose connections may be cut by request, and that are in sync.
private func cluster(of count: Int) -> (world: NodeWorld, nodes: [WorldNode]) {
    let world = NodeWorld()
    var nodes = [world.add("n1", mayBlock: true)]
    for number in 2...count {
        nodes.append(world.add("n\(number)", join: ["n1"], shards: nil, mayBlock: true))
    }
    world.run(milliseconds: 2_000)
    return (world, nodes)
}

extension WorldNode {
    /// Returns the error of an operator's request; nil where it is executed.
    func refusal(
        _ body: @Sendable (isolated Node) -> Result<Void, OperationFailure>
    ) -> OperationFailure? {
        if case .failure(let failure) = run(body) { return failure }
        return nil
    }

    func block(_ name: String, _ direction: CutDirection = .both) -> OperationFailure? {
        refusal { $0.block(NodeName(checked: name), direction) }
    }

    /// - Parameter name: nil for every member.
    func unblock(_ name: String?) -> OperationFailure? {
        refusal { $0.unblock(name.map(NodeName.init(checked:))) }
    }
}

/// Creates a conversation at a node; its reply is number `number`.
private func makeConversation(_ number: UInt64, at node: WorldNode, in world: NodeWorld) {
    #expect(node.submit(create(ConversationID(checked: "c\(number)")), number: number))
    world.endTurn(of: node)
}

/// Whether the conversation is on the disk of a node.
private func hasCapacity(_ number: UInt64, _ node: WorldNode) -> Bool {
    let key = DocumentKey.conversation(ConversationID(checked: "c\(number)"))
    return node.held.contains { node.stored(of: $0)[key] != nil }
}

@Suite struct CutTests {
    @Test(arguments: [CutDirection.both, .in, .out], [UInt64(2_000), 9_000])
    func `a cut holds back what goes its way, and heals within a second`(
        direction: CutDirection, milliseconds: UInt64
    ) {
        let (world, nodes) = cluster(of: 2)
        #expect(nodes[0].block("n2", direction) == nil)
        makeConversation(1, at: nodes[0], in: world)
        makeConversation(2, at: nodes[1], in: world)
        world.settle()
        #expect(hasCapacity(1, nodes[1]) == (direction == .in))
        #expect(hasCapacity(2, nodes[0]) == (direction == .out))
        world.run(milliseconds: milliseconds)
        let isLong = milliseconds > Timing.silenceKills
        if direction != .out { #expect((nodes[0].state(of: "n2") == .dead) == isLong) }
        if direction != .in { #expect((nodes[1].state(of: "n1") == .dead) == isLong) }
        makeConversation(3, at: nodes[0], in: world)
        makeConversation(4, at: nodes[1], in: world)
        #expect(nodes[0].unblock("n2") == nil)
        world.run(milliseconds: 1_000)
        for node in nodes {
            #expect(node.living == 2)
            #expect((1...4).allSatisfy { hasCapacity($0, node) })
        }
        #expect(nodes[0].digest == nodes[1].digest)
    }

    @Test func `a cut between two of three makes nobody dead, and writes go round it`() {
        let (world, nodes) = cluster(of: 3)
        #expect(nodes[0].block("n2") == nil)
        world.run(milliseconds: 9_000)
        makeConversation(1, at: nodes[0], in: world)
        world.run(milliseconds: 1_000)
        #expect(hasCapacity(1, nodes[1]))
        let lines = nodes.flatMap(\.host.lines)
        #expect(!lines.contains { $0.hasPrefix("member dead") })
        #expect(nodes[0].unblock(nil) == nil)
        world.run(milliseconds: 1_000)
        #expect(nodes.allSatisfy { $0.living == 3 && $0.isConverged })
    }

    @Test func `who is cut off from everybody is one view with them within a second after`() {
        let (world, nodes) = cluster(of: 3)
        #expect(nodes[2].block("n1") == nil)
        #expect(nodes[2].block("n2") == nil)
        world.run(milliseconds: 9_000)
        #expect(nodes.map(\.living) == [2, 2, 1])
        #expect(nodes[2].unblock(nil) == nil)
        world.run(milliseconds: 1_000)
        #expect(nodes.allSatisfy { $0.living == 3 && $0.isConverged })
    }

    @Test func `a cut ends with the process that made it`() {
        let (world, nodes) = cluster(of: 2)
        #expect(nodes[0].block("n2") == nil)
        let store = nodes[0].store
        world.kill("n1")
        let again = world.add("n1", store: store, shards: nil, mayBlock: true)
        world.run(milliseconds: 1_000)
        #expect(again.living == 2)
    }

    @Test func `cuts are refused without leave to make them, of oneself, and of nobody`() {
        let world = NodeWorld()
        let first = world.add("n1", mayBlock: true)
        let second = world.add("n2", join: ["n1"], shards: nil)
        world.run(milliseconds: 1_000)
        #expect(second.block("n1") == .faultsForbidden)
        #expect(second.unblock(nil) == .faultsForbidden)
        #expect(first.block("n1") == .oneself)
        #expect(first.unblock("n1") == .oneself)
        #expect(first.block("n9") == .unknownMember)
        #expect(first.unblock("n9") == .unknownMember)
        #expect(first.unblock("n2") == nil)
    }
}
