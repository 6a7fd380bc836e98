import CRDT
import Chat
import Replication
import Testing
import Wire

@testable import Node

extension NodeSeat {
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
    private func cluster() -> (world: NodeWorld, seats: [NodeSeat]) {
        let world = NodeWorld()
        var seats = [world.add("n1", evictAfterMilliseconds: nil, mayBlock: true)]
        for name in ["n2", "n3"] {
            seats.append(
                world.add(
                    name, join: ["n1"], shards: nil, evictAfterMilliseconds: nil, mayBlock: true))
        }
        world.run(milliseconds: 2_000)
        return (world, seats)
    }

    private func change(
        _ action: Credentials.Action, at seat: NodeSeat, _ number: UInt64, in world: NodeWorld
    ) {
        seat.handle(
            Mutation(action, at: Self.address, of: Self.user), number: number, level: .all)
        world.endTurn(of: seat)
    }

    private func cut(_ seat: NodeSeat, from others: [NodeSeat]) {
        for other in others { #expect(seat.block(other.name) == nil) }
    }

    @Test func `what is revoked at one node is soon revoked at all, and on their disks`() {
        let (world, seats) = cluster()
        let revoke = Mutation(.revoke(Self.user, through: HybridTimestamp(milliseconds: 5)))
        seats[1].handle(revoke, number: 1)
        world.endTurn(of: seats[1])
        world.run(milliseconds: 200)
        #expect(seats[1].sink.outcomes[1] == .answered(.done, nil))
        // The same again is answered, too.
        seats[1].handle(revoke, number: 2)
        world.endTurn(of: seats[1])
        world.run(milliseconds: 200)
        #expect(seats[1].sink.outcomes[2] == .answered(.done, nil))
        for seat in seats {
            #expect(seat.revoked == [Self.user.text])
            #expect(seat.store.settings.keys.contains { $0.hasPrefix("revocations ") })
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
        let (world, seats) = cluster()
        let add = Mutation(
            .addKey(SigningKeyID(checked: "k1"), SecretDigest(checked: "secret")))
        seats[0].handle(add, number: 1)
        world.endTurn(of: seats[0])
        world.run(milliseconds: 200)
        cut(seats[2], from: [seats[0], seats[1]])
        seats[2].handle(
            Mutation(.revoke(Self.user, through: HybridTimestamp(milliseconds: 5))), number: 1)
        world.endTurn(of: seats[2])
        world.run(milliseconds: 9_000)
        #expect(seats[2].sink.outcomes[1] == .answered(.done, nil))
        #expect(seats[2].run { $0.signing.table.keys.map(\.id.text) } == ["k1"])
        #expect(seats[0].revoked.isEmpty)
        #expect(seats[2].unblock(nil) == nil)
        world.run(milliseconds: 1_000)
        #expect(seats.allSatisfy { $0.revoked == [Self.user.text] })
    }

    @Test(arguments: [Credentials.Action.end(signIn, began: nil), .setDisabled(true)])
    func `a sign-in that went on at one side and ended at the other is revoked after the heal`(
        _ end: Credentials.Action
    ) {
        let (world, seats) = cluster()
        let signUp = Credentials.Action.signUp(
            email: FieldText("carol@example.org"), password: FieldText("hash"))
        change(signUp, at: seats[0], 1, in: world)
        change(
            .begin(Self.signIn, SecretDigest(checked: "r1"), judgedBy: nil), at: seats[0], 2,
            in: world)
        world.run(milliseconds: 1_000)
        cut(seats[2], from: [seats[0], seats[1]])
        change(end, at: seats[2], 3, in: world)
        // More time than a revocation is kept.
        world.run(milliseconds: SigningTable.lifetimeMilliseconds + 10_000)
        let began = HybridTimestamp(milliseconds: 1)
        change(
            .renew(
                Self.signIn,
                Credentials.Renewal(
                    secret: SecretDigest(checked: "r2"), replaced: SecretDigest(checked: "r1"),
                    request: nil),
                issued: began, began: began),
            at: seats[0], 4, in: world)
        world.run(milliseconds: 2_000)
        guard case .stored = seats[0].sink.outcomes[4] else {
            Issue.record("the renewal is refused: \(String(describing: seats[0].sink.outcomes[4]))")
            return
        }
        #expect(seats[0].revoked.isEmpty && seats[1].revoked.isEmpty)
        #expect(seats[2].unblock(nil) == nil)
        world.run(milliseconds: 1_000)
        for seat in seats { #expect(seat.revoked == [Self.signIn.text], "\(seat.name)") }
    }

    @Test func `nothing is sent while nothing changes`() {
        let (world, seats) = cluster()
        for number in 0..<2_048 {
            let name = UserID(checked: "s\(number)")
            seats[0].handle(
                Mutation(.revoke(name, through: HybridTimestamp(milliseconds: 5))),
                number: UInt64(number + 1))
        }
        world.endTurn(of: seats[0])
        world.run(milliseconds: 1_000)
        #expect(seats.allSatisfy { $0.revoked.count == 2_048 })
        let before = seats[1].sentBytes
        world.run(milliseconds: 10_000)
        // Two members, each of which may be sent 200 bytes a second.
        #expect(seats[1].sentBytes - before <= 2 * 200 * 10)
    }

    @Test func `a node at which users sign in is ready once it knows a key`() {
        let world = NodeWorld()
        let seat = world.add("n1")
        world.run(milliseconds: 1_000)
        #expect(seat.run { $0.unreadiness } == nil)
        seat.run { $0.expectSigningKeys() }
        #expect(seat.run { $0.unreadiness } == .noKeys && seat.run { $0.makesFirstKey })
        seat.handle(
            Mutation(.addKey(SigningKeyID(checked: "k1"), SecretDigest(checked: "secret"))),
            number: 1)
        world.endTurn(of: seat)
        #expect(seat.run { $0.unreadiness } == nil && !seat.run { $0.makesFirstKey })
    }
}
