import LineProtocol
import Testing

@testable import Simulator

/// The watchers that receive an answer before the message that it answers, and when that is
/// correct.
@Suite struct ClusterCausesTests {
    private let world = ClusterWorld(ClusterPlan(seed: 1), tracer: nil)
    private let watcher = ClusterWatcher(0, user: "u0", beginsLate: false)
    private let question = ClusterMessage.Name(id: "question", conversation: "c0")
    private let answer = ClusterMessage.Name(id: "answer", conversation: "c0")

    /// Returns a connection to the first node of a cluster that has formed; a message on it was
    /// answered.
    private func answered() throws -> ClusterVisit {
        for machine in world.machines { world.restart(machine.index, after: 0) }
        _ = world.run(until: 5_000_000)
        let visit = try #require(world.openVisit(to: 0, as: "u0"))
        visit.watchedAt = world.now
        _ = world.run(until: world.now + 1_000)
        try say(world.createLine("c0"), on: visit)
        for name in [question, answer] {
            try say(
                world.expectations.send(world.expectations.add(name, from: "u0", text: "text")),
                on: visit)
        }
        return visit
    }

    private func say(_ request: ClusterRequest, on visit: ClusterVisit) throws {
        world.ask([request], on: visit)
        try #require(world.run(until: world.now + 1_500_000) { visit.open.isEmpty })
        #expect(visit.answers.last?.code == nil)
    }

    private func tell(_ names: [ClusterMessage.Name], on visit: ClusterVisit) throws {
        for name in names {
            world.judgeOrder(name.id, for: watcher, on: visit)
            let event = try #require(ReplyLine("EVENT kind=message id=\(name.id)"))
            if case .data(_, let fields) = event { _ = watcher.expectations.applyEvent(fields) }
        }
    }

    @Test func `an answer told before what it answers is found`() throws {
        try tell([answer, question], on: answered())
        #expect(world.finding?.invariant == .cause)
    }

    @Test func `an answer told behind what it answers is well`() throws {
        try tell([question, answer], on: answered())
        #expect(world.finding == nil)
    }

    @Test func `what is never told was not overtaken`() throws {
        try tell([answer], on: answered())
        #expect(world.finding == nil)
    }

    @Test func `what was changed meanwhile is told with its change`() throws {
        let visit = try answered()
        world.expectations.noteEdit(of: question, "other")
        try tell([answer, question], on: visit)
        #expect(world.finding == nil)
    }

    @Test func `what is two seconds old is waited for no longer`() throws {
        let visit = try answered()
        _ = world.run(until: world.now + 2_000_000)
        try tell([answer, question], on: visit)
        #expect(world.finding == nil)
    }

    @Test func `what a node was reading for who was away comes in any order`() throws {
        let visit = try answered()
        world.machines[0].process?.readBackAt = world.now
        try tell([answer, question], on: visit)
        #expect(world.finding == nil)
    }
}
