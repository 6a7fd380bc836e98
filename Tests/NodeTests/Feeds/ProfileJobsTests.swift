import CRDT
import Chat
import Testing
import Wire

@testable import Node

/// The requests for profiles, and those that are repeated.
@Suite struct ProfileJobsTests {
    private static let user = UserID(checked: "alice")
    private static let shard = ShardID(1)

    private func vector(_ seqs: UInt64...) -> Vector {
        var vector = Vector()
        for seq in seqs { vector.insert(Dot(replica: RandomID(high: 1, low: 1), seq: seq)) }
        return vector
    }

    private func begin(
        _ jobs: inout ProfileJobs, at positions: [Vector?], now: UInt64 = 0
    ) throws -> (id: UInt64, isPartial: Bool) {
        let next = jobs.takeNext()
        let (job, minimums) = try #require(next)
        let id = jobs.begin(job, for: Self.user, keeping: minimums, at: positions, now: now)
        return (id, jobs.running[id]?.isPartial ?? false)
    }

    @Test func `who holds less than the feeds have told is asked again for just that`() throws {
        var jobs = ProfileJobs()
        jobs.add(.survey(session: 1))
        let (id, isPartial) = try begin(&jobs, at: [vector(), vector(1, 2)])
        jobs.recordVector(vector(1, 2, 3), of: Self.shard, for: id, now: 999)
        #expect(!isPartial && jobs.running[id]?.isPartial == false)
        jobs.recordVector(vector(1), of: Self.shard, for: id, now: 999)
        let ended = jobs.running.removeValue(forKey: id)
        let late = try #require(ended)
        #expect(late.isPartial)
        jobs.delay(late.job, at: late.minimums)
        let none = jobs.takeNext()
        #expect(jobs.hasLate && none == nil)
        jobs.retry()
        let (again, _) = try begin(&jobs, at: [vector(), vector(1, 2, 3)])
        jobs.recordVector(vector(1, 2), of: Self.shard, for: again, now: 999)
        #expect(jobs.running[again]?.isPartial == false)
        jobs.recordVector(vector(1), of: Self.shard, for: again, now: 1_000)
        #expect(jobs.running[again]?.isPartial == false, "what nobody has is not waited for")
        jobs.running = [:]
        #expect(jobs.isIdle)
    }

    @Test func `what is asked for anew is asked for from where the feeds stand then`() throws {
        var jobs = ProfileJobs()
        jobs.add(.survey(session: 1))
        let (id, isPartial) = try begin(&jobs, at: [vector(), nil])
        #expect(isPartial, "nobody knows where that feed begins")
        let ended = jobs.running.removeValue(forKey: id)
        let late = try #require(ended)
        jobs.delay(late.job, at: late.minimums)
        jobs.add(.survey(session: 1))
        #expect(!jobs.hasLate)
        let (again, _) = try begin(&jobs, at: [vector(), vector(1, 2)])
        jobs.recordVector(vector(1), of: Self.shard, for: again, now: 999)
        #expect(jobs.running[again]?.isPartial == true)
        let none = jobs.takeNext()
        #expect(none == nil)
    }

    @Test func `jobs are taken in order, those of one user one after the other`() throws {
        var jobs = ProfileJobs()
        jobs.add(.survey(session: 0))
        let (first, _) = try begin(&jobs, at: [])
        for session in 0..<100 { jobs.add(.survey(session: UInt64(session % 10))) }
        var taken: [ProfileJobs.Job] = []
        while let (job, _) = jobs.takeNext() { taken.append(job) }
        #expect(taken == (1..<10).map { .survey(session: $0) })
        jobs.running[first] = nil
        let last = jobs.takeNext()
        #expect(last?.job == .survey(session: 0))
        #expect(jobs.isIdle)
    }
}
