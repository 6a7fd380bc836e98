import Testing
import Wire

@testable import Replication

@Suite struct PeerSyncTests {
    private let peer = NodeName(checked: "n2")

    @Test func `a summary is sent at once, then in its rhythm`() {
        var link = PeerSync(to: peer, now: 1_000)
        func isDue(now: UInt64) -> Bool { link.takesSummary(now: now) }
        #expect(isDue(now: 1_000))
        #expect(!isDue(now: 1_000 + PeerSync.summaryMilliseconds - 1))
        #expect(isDue(now: 1_000 + PeerSync.summaryMilliseconds))
    }

    @Test func `a peer that is heard again after a gap is compared with at once`() {
        var link = PeerSync(to: peer, now: 0)
        func isDue(now: UInt64) -> Bool { link.takesSummary(now: now) }
        #expect(isDue(now: 0))
        link.onHeard(now: 100)
        #expect(!isDue(now: 200))
        link.onHeard(now: 100 + PeerSync.gapMilliseconds)
        #expect(isDue(now: 100 + PeerSync.gapMilliseconds))
    }

    @Test func `what was dropped makes the next summary due`() {
        var link = PeerSync(to: peer, now: 0)
        func isDue(now: UInt64) -> Bool { link.takesSummary(now: now) }
        #expect(isDue(now: 0))
        link.compareNow()
        #expect(isDue(now: 1))
        #expect(!isDue(now: 2))
    }

    @Test func `equal summaries mean level`() {
        var link = PeerSync(to: peer, now: 0)
        func isCaughtUp(_ theirs: UInt64, ours: UInt64, now: UInt64) -> Bool {
            link.onSummary(theirs, ours: ours, now: now)
        }
        #expect(!isCaughtUp(1, ours: 2, now: 5))
        #expect(!link.isCaughtUp(with: 2, now: 5))
        #expect(isCaughtUp(2, ours: 2, now: 7))
        #expect(link.isCaughtUp(with: 2, now: 7) && !link.isCaughtUp(with: 3, now: 7))
        #expect(!link.isCaughtUp(with: 2, now: 7 + PeerSync.levelMilliseconds))
    }

    @Test func `a silent peer is given up, and not before`() {
        var link = PeerSync(to: peer, now: 0)
        link.onHeard(now: 50)
        #expect(!link.isSilent(now: 49 + PeerSync.silenceMilliseconds))
        #expect(link.isSilent(now: 50 + PeerSync.silenceMilliseconds))
    }

    @Test func `a summary depends on each hash and on their order`() {
        func summary(_ hashes: [(UInt16, UInt64)]) -> UInt64 {
            PeerSync.summary(
                of: hashes.map { Frame.ShardHash(ShardID($0.0), $0.1, isServing: true) })
        }
        #expect(summary([(0, 1), (1, 2)]) != summary([(0, 2), (1, 1)]))
        #expect(summary([(0, 1), (1, 2)]) != summary([(0, 1), (1, 3)]))
        #expect(summary([(0, 1), (1, 2)]) != summary([(0, 1), (2, 2)]))
        #expect(PeerSync.summary(of: []) == PeerSync.summary(of: []))
    }
}
