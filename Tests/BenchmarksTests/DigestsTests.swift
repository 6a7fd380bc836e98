import LineProtocol
import Testing

@testable import Benchmarks
@testable import LineClient

@Suite struct DigestsTests {
    private static let first = "DIGEST shard=0 entities=2 hash=ab"
    private static let second = "DIGEST shard=1 entities=1 hash=cd"

    private func isCaughtUp(_ replies: LineReply...) -> Bool {
        var digests = Digests()
        for reply in replies { digests.add(reply) }
        return digests.isCaughtUp
    }

    @Test func `nodes are level where all holders of a shard print the same`() {
        #expect(isCaughtUp(reply(Self.first, "OK"), reply(Self.first, Self.second, "OK")))
        #expect(
            !isCaughtUp(reply(Self.first, "OK"), reply("DIGEST shard=0 entities=2 hash=ac", "OK")))
        #expect(
            !isCaughtUp(reply(Self.first, "OK"), reply("DIGEST shard=0 entities=3 hash=ab", "OK")))
        #expect(!isCaughtUp(reply(Self.first, "OK"), reply("ERR 503 later")))
    }

    private static let here = "SHARD id=0 owners=n1,n2 here=true state=ready"
    private static let away = "SHARD id=0 owners=n1,n2"

    private func finding(_ replies: [(String, String)]) -> String? {
        var placements = Placements()
        for (node, line) in replies { placements.add(reply(line, "OK"), of: node) }
        return placements.finding
    }

    @Test func `every shard is ready on each of its owners`() {
        #expect(finding([("n1", Self.here), ("n2", Self.here), ("n3", Self.away)]) == nil)
        #expect(
            finding([("n1", Self.here), ("n2", Self.away), ("n3", Self.away)])
                == "shard 0 belongs to n1,n2 and is held by n1")
    }

    @Test func `a shard in the wrong place, on its way, or seen elsewhere is found`() {
        #expect(
            finding([("n1", Self.here), ("n2", Self.here), ("n3", Self.here)])
                == "shard 0 belongs to n1,n2 and is held by n1,n2,n3")
        let syncing = Self.here.replacing("ready", with: "syncing")
        #expect(finding([("n1", Self.here), ("n2", syncing)]) == "n2 has shard 0 as syncing")
        let stale = "SHARD id=0 owners=n1,n3"
        #expect(
            finding([("n1", Self.here), ("n2", Self.here), ("n3", stale)])
                == "shard 0 belongs to n1,n2, for n3 to n1,n3")
        #expect(finding([]) == "there are no shards")
        var refused = Placements()
        refused.add(reply("ERR 503 later"), of: "n1")
        #expect(refused.finding == "n1 answers SHARDS with ERR 503 later")
    }
}
