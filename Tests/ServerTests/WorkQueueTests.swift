import Testing

@testable import Server

@Suite struct WorkQueueTests {
    private let most = 64

    @Test func `addresses have their turns one after the other`() {
        var queue = WorkQueue<String>(countMax: 64)
        for work in ["a1", "a2", "a3", "b1", "c1", "b2"] {
            #expect(queue.add(work, from: String(work.prefix(1))) == nil)
        }
        var order: [String] = []
        while let work = queue.next() { order.append(work) }
        #expect(order == ["a1", "b1", "c1", "a2", "b2", "a3"])
        #expect(queue.isEmpty && queue.count == 0)
    }

    @Test func `a few addresses do not take all places`() {
        var queue = WorkQueue<String>(countMax: 64)
        for number in 0..<most { _ = queue.add("a\(number)", from: "attacker \(number % 5)") }
        // The last of the address with the most.
        #expect(queue.add("mine", from: "me")?.first == "a")
        #expect(queue.count == most)
        var turn = 0
        while let work = queue.next(), work != "mine" { turn += 1 }
        #expect(turn == 5)
    }

    @Test func `the greediest address gets no further place, nor does one where all have one`() {
        var queue = WorkQueue<String>(countMax: 64)
        for number in 0..<most - 1 { _ = queue.add("a\(number)", from: "a") }
        #expect(queue.add("b1", from: "b") == nil)
        #expect(queue.add("more", from: "a") == "more")
        var full = WorkQueue<String>(countMax: 64)
        for number in 0..<most { _ = full.add("x", from: "\(number)") }
        #expect(full.add("late", from: "late") == "late")
        #expect(full.removeAll().count == most && full.isEmpty)
    }
}
