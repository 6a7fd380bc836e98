import Node
import NodeKit
import Testing

@testable import Session

/// Pages of a history that grows while it is read, now on one node and now on another.
@Suite struct PageTests {
    private let world = World()
    private let second: TestNode
    private let clients: [TestClient]

    init() {
        second = world.join("n2")
        clients = [world.n1.connect(), second.connect()]
        ask("CREATE c alice,bob", at: 0)
        for number in 10..<30 { ask("SEND c alice id=m\(number) hello", at: number) }
    }

    @discardableResult
    private func ask(_ line: String, at turn: Int) -> [String] {
        let client = clients[turn % 2]
        client.say(line)
        world.settle(world.n1, second)
        return client.heard()
    }

    private func page(_ options: String, at turn: Int) -> [String] {
        ask("HISTORY c bob \(options)", at: turn).compactMap { line in
            guard line.hasPrefix("MESSAGE id=") else { return nil }
            return line.dropFirst("MESSAGE id=".count).prefix { $0 != " " }.description
        }
    }

    @Test func `pages back from the newest have no gap and no repeat while messages arrive`() throws
    {
        var seen = page("limit=3", at: 0)
        let newest = try #require(seen.last)
        for turn in 1..<20 {
            ask("SEND c alice id=n\(turn) later", at: turn)
            if turn == 4 { ask("DELETE c m12 alice for=everyone", at: turn) }
            let page = page("limit=3 before=\(seen[0])", at: turn)
            seen = page + seen
        }
        let all = page("limit=1000", at: 0)
        #expect(page("limit=1000", at: 1) == all)
        let known = try #require(all.firstIndex(of: newest))
        #expect(seen == Array(all[...known]))
        #expect(all.count == 39)
    }

    @Test func `pages on from the first have no gap and no repeat while messages arrive`() throws {
        var seen = ["m10"]
        for turn in 1..<20 {
            if turn < 15 { ask("SEND c alice id=n\(turn) later", at: turn) }
            seen += page("limit=3 after=\(seen[seen.count - 1])", at: turn)
        }
        #expect(seen == page("limit=1000", at: 0))
        #expect(seen.count == 34)
    }
}
