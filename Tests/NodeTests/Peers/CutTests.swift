import Chat
import Membership
import Testing
import Wire

@testable import Node

/// Returns nodes whose connections may be cut by request, and that are in sync.
private func cluster(of count: Int) -> (world: NodeWorld, participantStates: [NodeSeat]) {
    let world = NodeWorld()
    var participantStates = [world.add("n1", mayBlock: true)]
    for number in 2...count {
        participantStates.append(world.add("n\(number)", join: ["n1"], shards: nil, mayBlock: true))
    }
    world.run(milliseconds: 2_000)
    return (world, participantStates)
}

extension NodeSeat {
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
private func makeRoom(_ number: UInt64, at participantState: NodeSeat, in world: NodeWorld) {
    #expect(participantState.submit(create(ConversationID(checked: "c\(number)")), number: number))
    world.endTurn(of: participantState)
}

/// Whether the conversation is on the disk of a node.
private func hasCapacity(_ number: UInt64, _ participantState: NodeSeat) -> Bool {
    let key = DocumentKey.conversation(ConversationID(checked: "c\(number)"))
    return participantState.held.contains { participantState.stored(of: $0)[key] != nil }
}

@Suite struct CutTests {
    @Test(arguments: [CutDirection.both, .in, .out], [UInt64(2_000), 9_000])
    func `a cut holds back what goes its way, and heals within a second`(
        direction: CutDirection, milliseconds: UInt64
    ) {
        let (world, participantStates) = cluster(of: 2)
        #expect(participantStates[0].block("n2", direction) == nil)
        makeRoom(1, at: participantStates[0], in: world)
        makeRoom(2, at: participantStates[1], in: world)
        world.settle()
        #expect(hasCapacity(1, participantStates[1]) == (direction == .in))
        #expect(hasCapacity(2, participantStates[0]) == (direction == .out))
        world.run(milliseconds: milliseconds)
        let isLong = milliseconds > Timing.silenceKills
        if direction != .out { #expect((participantStates[0].state(of: "n2") == .dead) == isLong) }
        if direction != .in { #expect((participantStates[1].state(of: "n1") == .dead) == isLong) }
        makeRoom(3, at: participantStates[0], in: world)
        makeRoom(4, at: participantStates[1], in: world)
        #expect(participantStates[0].unblock("n2") == nil)
        world.run(milliseconds: 1_000)
        for participantState in participantStates {
            #expect(participantState.living == 2)
            #expect((1...4).allSatisfy { hasCapacity($0, participantState) })
        }
        #expect(participantStates[0].digest == participantStates[1].digest)
    }

    @Test func `a cut between two of three makes nobody dead, and writes go round it`() {
        let (world, participantStates) = cluster(of: 3)
        #expect(participantStates[0].block("n2") == nil)
        world.run(milliseconds: 9_000)
        makeRoom(1, at: participantStates[0], in: world)
        world.run(milliseconds: 1_000)
        #expect(hasCapacity(1, participantStates[1]))
        let lines = participantStates.flatMap(\.host.lines)
        #expect(!lines.contains { $0.hasPrefix("member dead") })
        #expect(participantStates[0].unblock(nil) == nil)
        world.run(milliseconds: 1_000)
        #expect(participantStates.allSatisfy { $0.living == 3 && $0.isConverged })
    }

    @Test func `who is cut off from everybody is one view with them within a second after`() {
        let (world, participantStates) = cluster(of: 3)
        #expect(participantStates[2].block("n1") == nil)
        #expect(participantStates[2].block("n2") == nil)
        world.run(milliseconds: 9_000)
        #expect(participantStates.map(\.living) == [2, 2, 1])
        #expect(participantStates[2].unblock(nil) == nil)
        world.run(milliseconds: 1_000)
        #expect(participantStates.allSatisfy { $0.living == 3 && $0.isConverged })
    }

    @Test func `a cut ends with the process that made it`() {
        let (world, participantStates) = cluster(of: 2)
        #expect(participantStates[0].block("n2") == nil)
        let store = participantStates[0].store
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
