import Testing

@testable import GrapevineClient

@Suite struct ReadsTests {
    private func sure(_ target: Reads.Target) -> Reads.Ask {
        Reads.Ask(target: target, isSure: true)
    }

    private func unsure(_ target: Reads.Target) -> Reads.Ask {
        Reads.Ask(target: target, isSure: false)
    }

    @Test func `what events make stale is gathered, and read once`() {
        var reads = Reads()
        for _ in 0..<5 { reads.need(.row("c"), now: 0) }
        reads.need(.lists, now: 10)
        #expect(reads.deadline == 150 && reads.isStale(.row("c")))
        #expect(reads.begin(now: 149).isEmpty)
        #expect(reads.begin(now: 150) == [sure(.lists), sure(.row("c"))])
        #expect(!reads.isStale(.row("c")) && reads.deadline == nil)
        reads.settle(sure(.lists), .told, now: 200)
        reads.settle(sure(.row("c")), .refused, now: 200)
        #expect(reads == Reads())
    }

    @Test func `what becomes stale while it is read is read again, and not at the same time`() {
        var reads = Reads()
        reads.need(.row("c"), now: 0)
        _ = reads.begin(now: 150)
        reads.need(.row("c"), now: 160)
        #expect(reads.isStale(.row("c")))
        #expect(reads.begin(now: 400).isEmpty)
        reads.settle(sure(.row("c")), .told, now: 500)
        #expect(reads.begin(now: reads.deadline ?? 0) == [sure(.row("c"))])
    }

    @Test func `a read that fails is made again a second later`() {
        var reads = Reads()
        reads.need(.pins("c"), now: 0)
        let asks = reads.begin(now: 150)
        reads.settle(asks[0], .failed, now: 200)
        #expect(reads.deadline == 1_200)
        #expect(reads.begin(now: 1_200) == asks)
    }

    @Test func `where nodes are behind, older answers count, and are asked for again later`() {
        var reads = Reads()
        reads.need(.history("c"), now: 0)
        let asks = reads.begin(now: 150)
        reads.settle(asks[0], .behind, now: 200)
        #expect(reads.begin(now: 200) == [unsure(.history("c"))])
        reads.settle(unsure(.history("c")), .told, now: 300)
        // Other reads do not try the token either; nothing is asked again and again.
        reads.need(.row("d"), now: 400)
        #expect(reads.begin(now: 550) == [unsure(.row("d"))])
        reads.settle(unsure(.row("d")), .told, now: 600)
        #expect(reads.begin(now: 5_000).isEmpty)
        #expect(reads.deadline == 10_200)
        let again = reads.begin(now: 10_200)
        #expect(again == [sure(.history("c")), sure(.row("d"))])
    }

    @Test func `eight reads are under way at a time`() {
        var reads = Reads()
        for number in 0..<20 { reads.need(.row("c\(number)"), now: 0) }
        let first = reads.begin(now: 150)
        #expect(first.count == 8)
        reads.settle(first[0], .told, now: 200)
        #expect(reads.begin(now: reads.deadline ?? 0).count == 1)
    }
}
