import Testing

@testable import Wire

@Suite struct FairQueueTests {
    private var queue = FairQueue<String, Int>()

    private mutating func take(_ count: Int) -> [Int] {
        (0..<count).compactMap { _ in queue.takeFirst() }
    }

    @Test mutating func aSourceWithMuchDelaysAnotherByOne() {
        for number in 0..<1_000 { queue.append(number, of: "greedy") }
        queue.append(5_000, of: "modest")
        #expect((queue.count, queue.sourceCount) == (1_001, 2))
        #expect(take(3) == [0, 5_000, 1])
        #expect((queue.count, queue.sourceCount) == (998, 1))
    }

    @Test mutating func theElementsOfASourceKeepTheirOrder() {
        for number in 0..<10 { queue.append(number, of: "a") }
        #expect(take(7) == Array(0..<7))
        for number in 10..<100 { queue.append(number, of: "a") }
        #expect(take(100) == Array(7..<100))
        #expect(queue.isEmpty && queue.sourceCount == 0)
        #expect(queue.takeFirst() == nil)
    }

    @Test mutating func aSourceThatComesBackHasItsTurnAfterTheOthers() {
        queue.append(1, of: "a")
        queue.append(2, of: "b")
        #expect(take(1) == [1])
        queue.append(3, of: "a")
        #expect(take(2) == [2, 3])
    }
}
