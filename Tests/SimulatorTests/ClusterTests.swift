import LineProtocol
import Testing

@testable import Simulator

@Suite struct ClusterTests {
    @Test func `a shard that was handed over is owed by the owners that are left`() throws {
        let world = ClusterWorld(ClusterPlan(seed: 1), tracer: nil)
        let gone = world.shard(of: "c0")
        let other = try #require((1...50).map { "c\($0)" }.first { world.shard(of: $0) != gone })
        let names = ["c0", other].map {
            world.expectations.add(
                ClusterMessage.Name(id: "m-\($0)", conversation: $0), from: "u0", text: "")
        }
        for name in names { world.expectations.acknowledge(name, .sent, copies: 2) }
        for machine in world.machines.dropFirst(2) { machine.isOut = true }
        let leaver = world.machines[0]
        func lose() -> [Bool] {
            leaver.executor.run { leaver.disk.commit([], drops: [gone], settings: [], ticket: 1) }
            world.noteDrops(by: leaver)
            var expectations = world.expectations
            return names.map {
                expectations.lose($0.id, { _, _ in true }, isElsewhere: { _, _ in false }).broken
                    .isEmpty
            }
        }
        #expect(lose() == [false, false])
        leaver.isLeaving = true
        #expect(lose() == [true, false])
    }

    /// A few seeds: a debug build checks what a release build does not.
    static let seeds: [UInt64] = [3, 10_408]

    @Test(arguments: seeds) func `a fixed seed of whole nodes breaks no promise`(seed: UInt64) {
        let run = ClusterRun.twice(seed: seed)
        #expect(run.finding == nil, "\(run.finding?.explanation ?? "")")
        #expect(run.events > 100)
    }

    @Test func `fresh seeds of whole nodes break no promise`() {
        var random = SystemRandomNumberGenerator()
        for _ in 0..<2 {
            let seed = random.next() >> 16
            let run = ClusterRun.twice(seed: seed)
            #expect(
                run.finding == nil,
                "grapevine-sim --world whole --seed \(seed): \(run.finding?.explanation ?? "")")
        }
    }

    @Test func `where two runs part is said in words`() {
        let (one, other) = (ClusterRun(seed: 5).trace, ClusterRun(seed: 6).trace)
        #expect(one.firstDifference(from: other)?.contains("one run has") == true)
        #expect(one.firstDifference(from: one) == nil)
    }

    @Test func `an answer that is not its request's is found`() throws {
        let world = ClusterWorld(ClusterPlan(seed: 1), tracer: nil)
        let visit = try #require(aVisit(in: world))
        let status = try #require(ReplyLine("OK id=other at=2026-11-21T06:00:00.123Z replicas=1/1"))
        let name = ClusterMessage.Name(id: "m", conversation: "c0")
        world.judge(
            ClusterAnswer(data: [], status: status), to: ClusterRequest(.send(name), "SEND"),
            on: visit)
        #expect(world.finding?.invariant == .sound)
    }

    /// - Parameters:
    ///   - again: whether the message was sent before, too.
    ///   - before: whether a disk was lost between the two requests, or before the only one.
    ///   - after: whether a disk was lost before the answer came.
    @Test(arguments: [
        (again: true, before: true, after: true, isOwed: false),
        (again: true, before: true, after: false, isOwed: true),
        (again: false, before: true, after: true, isOwed: true),
        (again: true, before: false, after: true, isOwed: true),
    ])
    func `a message that was sent again is owed by the disks that are left`(
        again: Bool, before: Bool, after: Bool, isOwed: Bool
    ) throws {
        let world = ClusterWorld(ClusterPlan(seed: 1), tracer: nil)
        let visit = try #require(aVisit(in: world))
        let name = world.expectations.add(
            ClusterMessage.Name(id: "m", conversation: "c0"), from: "u0", text: "")
        func pass() { _ = world.run(until: world.now + 1_000_000) }
        if again {
            _ = world.expectations.send(name)
            world.expectations.noteAsked(name, at: world.now)
        }
        pass()
        if before { world.disksLostAt.append(world.now) }
        pass()
        let request = world.expectations.send(name).asked(at: world.now, isEarly: false)
        world.expectations.noteAsked(name, at: world.now)
        pass()
        if after { world.disksLostAt.append(world.now) }
        let status = try #require(
            ReplyLine("OK id=m at=2026-11-21T06:00:00.123Z replicas=2/2"))
        world.judge(ClusterAnswer(data: [], status: status), to: request, on: visit)
        #expect(world.expectations.messages["m"]?.isAcknowledged(.sent) == isOwed)
    }

    @Test(arguments: [([0, 1], true), ([1], true), ([], true), ([1, 0], false), ([0, 9], false)])
    func `a digest has a line for each of some shards, in order`(
        shards: [Int], isOne: Bool
    ) throws {
        let world = ClusterWorld(ClusterPlan(seed: 1), tracer: nil)
        #expect((2...9).contains(world.plan.shards))
        let visit = try #require(aVisit(in: world))
        let lines = try shards.map {
            try #require(ReplyLine("DIGEST shard=\($0) entities=0 hash=0"))
        }
        let status = try #require(ReplyLine("OK digest=0"))
        world.judge(
            ClusterAnswer(data: lines, status: status), to: ClusterRequest(.digest, "DIGEST"),
            on: visit)
        #expect((world.finding == nil) == isOne)
    }

    @Test func `an answer to nothing is found`() throws {
        let world = ClusterWorld(ClusterPlan(seed: 1), tracer: nil)
        let visit = try #require(aVisit(in: world))
        world.deliver(Array("OK\n".utf8), to: visit.id)
        _ = world.run(until: world.now + 100_000)
        #expect(world.finding?.invariant == .answered)
    }

    /// Seeds 1795392361650 and 1795415000718 of whole nodes: requests that were made while faults
    /// went on were accepted between the last reads, or after them.
    @Test func `the last reads wait for all that people asked`() throws {
        let world = ClusterWorld(ClusterPlan(seed: 1), tracer: nil)
        let client = ClusterClient(0)
        let visit = try #require(aVisit(in: world))
        client.visit = visit
        world.clients = [client]
        world.ask([ClusterRequest(.wait, "WAIT 9 900")], on: visit)
        world.act(client)
        let askedAt = world.now
        #expect(world.hearOut() && world.finding == nil)
        #expect(client.visit == nil && world.now >= askedAt + 900_000)
    }

    @Test func `a machine's actors are not touched outside of its steps`() {
        let executor = ClusterExecutor()
        #expect(executor.isIsolatingCurrentContext() == false)
        executor.run { #expect(executor.isIsolatingCurrentContext() == true) }
    }

    /// Returns a connection to the first node of a cluster that has formed.
    @Test func `what only a machine that is away still has of a device is given up`() throws {
        let world = ClusterWorld(ClusterPlan(seed: 1), tracer: nil)
        _ = try #require(aVisit(in: world))
        let phone = ClusterPhone(0, user: "u0")
        world.phones = [phone]
        world.ring(.add, of: phone, at: 0)
        func holders() -> [ClusterMachine] {
            world.machines.filter { $0.documents[phone.key] != nil }
        }
        #expect(world.run(until: world.now + 5_000_000) { holders().count > 1 })
        let away = try #require(holders().first)
        world.kill(away.index)
        away.isOut = true
        world.noteGivenUp(away, besides: world.machines.filter { !$0.isOut })
        // Another member has it.
        #expect(phone.expectations.addedAt != nil)
        for machine in world.machines where machine !== away {
            world.kill(machine.index)
            _ = world.wipe(machine)
        }
        #expect(away.documents[phone.key] != nil && phone.expectations.addedAt == nil)
    }

    private func aVisit(in world: ClusterWorld) -> ClusterVisit? {
        for machine in world.machines { world.restart(machine.index, after: 0) }
        _ = world.run(until: 5_000_000) { world.machines[0].process?.isReady ?? false }
        return world.openVisit(to: 0, as: "u0")
    }
}
