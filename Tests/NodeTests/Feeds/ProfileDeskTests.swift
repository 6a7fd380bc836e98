import CRDT
import Chat
import Testing
import Wire

@testable import Node

/// The requests for profiles, and those that are repeated.
@Suite struct ProfileDeskTests {
    private static let user = UserID(checked: "alice")
    private static let shard = ShardID(1)

    private func vector(_ seqs: UInt64...) -> Vector {
        var vector = Vector()
        for seq in seqs { vector.insert(Dot(replica: RandomID(high: 1, low: 1), seq: seq)) }
        return vector
    }

    private func begin(
        _ desk: inout ProfileDesk, at positions: [Vector?], now: UInt64 = 0
    ) throws -> (id: UInt64, isPartial: Bool) {
        let next = desk.takeNext()
        let (errand, minimums) = try #require(next)
        let id = desk.begin(errand, for: Self.user, keeping: minimums, at: positions, now: now)
        return (id, desk.running[id]?.isPartial ?? false)
    }

    @Test func `who holds less than the feeds have told is asked again for just that`() throws {
        var desk = ProfileDesk()
        desk.add(.survey(session: 1))
        let (id, isPartial) = try begin(&desk, at: [vector(), vector(1, 2)])
        desk.recordVector(vector(1, 2, 3), of: Self.shard, for: id, now: 999)
        #expect(!isPartial && desk.running[id]?.isPartial == false)
        desk.recordVector(vector(1), of: Self.shard, for: id, now: 999)
        let ended = desk.running.removeValue(forKey: id)
        let late = try #require(ended)
        #expect(late.isPartial)
        desk.delay(late.errand, at: late.minimums)
        let none = desk.takeNext()
        #expect(desk.hasLate && none == nil)
        desk.retry()
        let (again, _) = try begin(&desk, at: [vector(), vector(1, 2, 3)])
        desk.recordVector(vector(1, 2), of: Self.shard, for: again, now: 999)
        #expect(desk.running[again]?.isPartial == false)
        desk.recordVector(vector(1), of: Self.shard, for: again, now: 1_000)
        #expect(desk.running[again]?.isPartial == false, "what nobody has is not waited for")
        desk.running = [:]
        #expect(desk.isIdle)
    }

    @Test func `what is asked for anew is asked for from where the feeds stand then`() throws {
        var desk = ProfileDesk()
        desk.add(.survey(session: 1))
        let (id, isPartial) = try begin(&desk, at: [vector(), nil])
        #expect(isPartial, "nobody knows where that feed begins")
        let ended = desk.running.removeValue(forKey: id)
        let late = try #require(ended)
        desk.delay(late.errand, at: late.minimums)
        desk.add(.survey(session: 1))
        #expect(!desk.hasLate)
        let (again, _) = try begin(&desk, at: [vector(), vector(1, 2)])
        desk.recordVector(vector(1), of: Self.shard, for: again, now: 999)
        #expect(desk.running[again]?.isPartial == true)
        let none = desk.takeNext()
        #expect(none == nil)
    }

    @Test func `errands are taken in order, those of one user one after the other`() throws {
        var desk = ProfileDesk()
        desk.add(.survey(session: 0))
        let (first, _) = try begin(&desk, at: [])
        for session in 0..<100 { desk.add(.survey(session: UInt64(session % 10))) }
        var taken: [ProfileDesk.Errand] = []
        while let (errand, _) = desk.takeNext() { taken.append(errand) }
        #expect(taken == (1..<10).map { .survey(session: $0) })
        desk.running[first] = nil
        let last = desk.takeNext()
        #expect(last?.errand == .survey(session: 0))
        #expect(desk.isIdle)
    }
}
