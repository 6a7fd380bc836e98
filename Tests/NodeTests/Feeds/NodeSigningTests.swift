import CRDT
import Chat
import Replication
import Testing
import Wire

@testable import Node

extension WorldNode {
    /// The names of what is revoked here.
    var revoked: [String] { run { $0.signing.table.revoked.map(\.name.text) } }

    /// The bytes that were sent to members since they connected.
    var sentBytes: UInt64 {
        run { node in node.links.ascending.reduce(0) { $0 + $1.traffic.sentBytes } }
    }
}

@Suite struct NodeSigningTests {
    private static let address = AddressID(checked: "a1")
    private static let user = UserID(checked: "carol")
    private static let signIn = SignInID(checked: "s1")

    /// Three nodes that are in sync.
    private func cluster() -> (world: NodeWorld, nodes: [WorldNode]) {
        let world = NodeWorld()
        var nodes = [world.add("n1", evictAfterMilliseconds: nil, mayBlock: true)]
        for name in ["n2", "n3"] {
            nodes.append(
                world.add(
                    name, join: ["n1"], shards: nil, evictAfterMilliseconds: nil, mayBlock: true))
        }
        world.run(milliseconds: 2_000)
        return (world, nodes)
    }

    private func change(
        _ action: any CredentialsAction, at node: WorldNode, _ number: UInt64, in world: NodeWorld
    ) {
        node.handle(
            Mutation(action, at: Self.address, of: Self.user), number: number, level: .all)
        world.endTurn(of: node)
    }

    private func cut(_ node: WorldNode, from others: [WorldNode]) {
        for other in others { #expect(node.block(other.name) == nil) }
    }

    @Test func `what is revoked at one node is soon revoked at all, and on their disks`() {
        let (world, nodes) = cluster()
        let revoke = Mutation(.revoke(Self.user, through: HybridTimestamp(milliseconds: 5)))
        nodes[1].handle(revoke, number: 1)
        world.endTurn(of: nodes[1])
        world.run(milliseconds: 200)
        #expect(nodes[1].sink.outcomes[1] == .answered(.done, nil))
        // The same again is answered, too.
        nodes[1].handle(revoke, number: 2)
        world.endTurn(of: nodes[1])
        world.run(milliseconds: 200)
        #expect(nodes[1].sink.outcomes[2] == .answered(.done, nil))
        for node in nodes {
            #expect(node.revoked == [Self.user.text])
            #expect(node.store.settings.keys.contains { $0.hasPrefix("revocations ") })
        }
    }

    @Test func `a revocation outlives a wall clock that is set forward and back`() {
        let year: UInt64 = 365 * 86_400_000
        let step = SigningReplica.sweepMilliseconds
        var (now, wall): (UInt64, UInt64) = (1_000, 1_800_000_000_000)
        var replica = SigningReplica()
        func wait(_ milliseconds: UInt64) {
            for _ in 0..<milliseconds / step {
                now += step
                wall += step
                replica.sweep(now: now, wall: wall)
            }
        }
        wait(step)
        let revocation = SigningTable.Revocation(
            name: Self.user, through: HybridTimestamp(milliseconds: 5), made: wall)
        replica.insert(revocation, now: wall)
        wait(300_000)
        wall += 10 * year
        wait(60_000)
        wall -= 10 * year
        wait(SigningTable.lifetimeMilliseconds - 10_000)
        #expect(replica.table.revoked.map(\.name) == [Self.user])
        wait(20_000)
        #expect(replica.table.revoked.isEmpty)
    }

    @Test func `a node that is cut off has its keys, takes sign-outs, and tells them later`() {
        let (world, nodes) = cluster()
        let add = Mutation(
            .addKey(SigningKeyID(checked: "k1"), SecretDigest(checked: "secret")))
        nodes[0].handle(add, number: 1)
        world.endTurn(of: nodes[0])
        world.run(milliseconds: 200)
        cut(nodes[2], from: [nodes[0], nodes[1]])
        nodes[2].handle(
            Mutation(.revoke(Self.user, through: HybridTimestamp(milliseconds: 5))), number: 1)
        world.endTurn(of: nodes[2])
        world.run(milliseconds: 9_000)
        #expect(nodes[2].sink.outcomes[1] == .answered(.done, nil))
        #expect(nodes[2].run { $0.signing.table.keys.map(\.id.text) } == ["k1"])
        #expect(nodes[0].revoked.isEmpty)
        #expect(nodes[2].unblock(nil) == nil)
        world.run(milliseconds: 1_000)
        #expect(nodes.allSatisfy { $0.revoked == [Self.user.text] })
    }

    private static let ends: [any CredentialsAction] = [
        EndSignIn(signIn, began: nil), SetAccountDisabled(true),
    ]

    @Test(arguments: ends)
    func `a sign-in that went on at one side and ended at the other is revoked after the heal`(
        _ end: any CredentialsAction
    ) {
        let (world, nodes) = cluster()
        let signUp = SignUp(
            email: FieldText("carol@example.org"), password: FieldText("hash"))
        change(signUp, at: nodes[0], 1, in: world)
        change(
            BeginSignIn(Self.signIn, SecretDigest(checked: "r1"), judgedBy: nil), at: nodes[0], 2,
            in: world)
        world.run(milliseconds: 1_000)
        cut(nodes[2], from: [nodes[0], nodes[1]])
        change(end, at: nodes[2], 3, in: world)
        // More time than a revocation is kept.
        world.run(milliseconds: SigningTable.lifetimeMilliseconds + 10_000)
        let began = HybridTimestamp(milliseconds: 1)
        change(
            RenewSignIn(
                Self.signIn,
                Credentials.Renewal(
                    secret: SecretDigest(checked: "r2"), replaced: SecretDigest(checked: "r1"),
                    request: nil),
                issued: began, began: began),
            at: nodes[0], 4, in: world)
        world.run(milliseconds: 2_000)
        guard case .stored = nodes[0].sink.outcomes[4] else {
            Issue.record("the renewal is refused: \(String(describing: nodes[0].sink.outcomes[4]))")
            return
        }
        #expect(nodes[0].revoked.isEmpty && nodes[1].revoked.isEmpty)
        #expect(nodes[2].unblock(nil) == nil)
        world.run(milliseconds: 1_000)
        for node in nodes { #expect(node.revoked == [Self.signIn.text], "\(node.name)") }
    }

    @Test func `nothing is sent while nothing changes`() {
        let (world, nodes) = cluster()
        for number in 0..<2_048 {
            let name = UserID(checked: "s\(number)")
            nodes[0].handle(
                Mutation(.revoke(name, through: HybridTimestamp(milliseconds: 5))),
                number: UInt64(number + 1))
        }
        world.endTurn(of: nodes[0])
        world.run(milliseconds: 1_000)
        #expect(nodes.allSatisfy { $0.revoked.count == 2_048 })
        let before = nodes[1].sentBytes
        world.run(milliseconds: 10_000)
        // Two members, each of which may be sent 200 bytes a second.
        #expect(nodes[1].sentBytes - before <= 2 * 200 * 10)
    }

    @Test func `a node at which users sign in is ready once it knows a key`() {
        let world = NodeWorld()
        let node = world.add("n1")
        world.run(milliseconds: 1_000)
        #expect(node.run { $0.unreadiness } == nil)
        node.run { $0.expectSigningKeys() }
        #expect(node.run { $0.unreadiness } == .noKeys && node.run { $0.makesFirstKey })
        node.handle(
            Mutation(.addKey(SigningKeyID(checked: "k1"), SecretDigest(checked: "secret"))),
            number: 1)
        world.endTurn(of: node)
        #expect(node.run { $0.unreadiness } == nil && !node.run { $0.makesFirstKey })
    }
}
