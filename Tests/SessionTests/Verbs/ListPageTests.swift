import NodeKit
import Testing

@testable import Session

/// Lists in pages: `limit=`, and `from=` with what `next=` said.
@Suite struct ListPageTests {
    private let world = World()
    private let client: TestClient

    init() {
        client = world.n1.connect()
        for number in 0..<5 {
            let line = "CREATE c\(number) alice,bob"
            _ = client.ask(line, "ACTION ADD alice id=i\(number) -- item \(number)")
            _ = client.ask("DEVICE ADD alice d\(number) token=t")
            _ = client.ask("SEND c0 bob id=m\(number) text", "SEND c\(number) bob id=n text")
            _ = client.ask("PIN c0 m\(number) bob", "EDIT c0 m0 bob text \(number)")
            world.clock.advance(milliseconds: 1_000)
        }
    }

    private func value(_ key: String, in line: String) -> String? {
        line.split(separator: " ").first { $0.hasPrefix("\(key)=") }.map {
            String($0.dropFirst(key.count + 1))
        }
    }

    private func pages(_ list: String, of limit: Int) -> [[String]] {
        var pages: [[String]] = []
        var from = ""
        repeat {
            let lines = client.ask("\(list) limit=\(limit)\(from)")
            pages.append(Array(lines.dropLast()))
            from = value("next", in: lines.last ?? "").map { " from=\($0)" } ?? ""
        } while !from.isEmpty && pages.count < 10
        return pages
    }

    @Test(arguments: [
        "CHATS alice", "UNREAD alice", "ACTIONS alice", "DEVICES alice", "PINNED c0 alice",
        "EDITS c0 m0 alice", "NOTIFICATIONS alice d0",
    ])
    func `the pages of a list together are the list`(_ list: String) {
        let whole = client.ask(list)
        #expect(whole.count > 5)
        for limit in [1, 2, 1_000] {
            let pages = pages(list, of: limit)
            #expect(pages.flatMap(\.self) == whole.dropLast())
            #expect(pages.dropLast().allSatisfy { $0.count == limit })
        }
    }

    private func histories(_ place: String, of bytes: Int) -> [[String]] {
        var pages: [[String]] = []
        var from: String? = place == "after" ? " after=m0" : ""
        while let place = from, pages.count < 20 {
            let lines = client.ask("HISTORY c0 alice bytes=\(bytes)\(place)")
            pages.append(Array(lines.dropLast()))
            let word = place.contains("after") ? "after" : "before"
            from = value("next", in: lines.last ?? "").map { " \(word)=\($0)" }
        }
        return pages
    }

    @Test(arguments: [1, 60, 120, 1 << 20])
    func `a page of a history ends before its bytes are too many, and says where it goes on`(
        _ bytes: Int
    ) {
        let whole = Array(client.ask("HISTORY c0 alice").dropLast())
        let behind = Array(whole.drop { !$0.contains(" id=m0 ") }.dropFirst())
        #expect(whole.count > 5)
        let back = histories("before", of: bytes)
        #expect(back.reversed().flatMap(\.self) == whole)
        let forth = histories("after", of: bytes)
        #expect(forth.flatMap(\.self) == behind)
        for pages in [back, forth] {
            #expect(pages.allSatisfy { !$0.isEmpty })
            #expect((pages.count == 1) == (bytes == 1 << 20))
            if bytes == 1 { #expect(pages.allSatisfy { $0.count == 1 }) }
        }
    }

    @Test func `a page of a history has so many bytes as are asked for at most`() {
        #expect(client.ask("HISTORY c0 alice bytes=0").last?.hasPrefix("ERR 400") ?? false)
        #expect(client.ask("HISTORY c0 alice limit=2 bytes=1").count == 2)
        #expect(client.ask("HISTORY c0 alice limit=1 bytes=1").last == "OK")
    }

    @Test func `a page begins behind the last one, whatever has left the list since`() {
        let first = client.ask("ACTIONS alice limit=2")
        #expect(first.dropLast().compactMap { value("id", in: $0) } == ["i0", "i1"])
        _ = client.ask("ACTION DELETE alice i1", "ACTION DELETE alice i2")
        let next = value("next", in: first.last ?? "") ?? ""
        let second = client.ask("ACTIONS alice limit=2 from=\(next)")
        #expect(second.dropLast().compactMap { value("id", in: $0) } == ["i3", "i4"])
        #expect(second.last == "OK")
    }

    @Test func `the total of unread messages is that of the whole list`() {
        let total = value("total", in: client.ask("UNREAD alice").last ?? "")
        #expect(total == "10")
        #expect(value("total", in: client.ask("UNREAD alice limit=1").last ?? "") == total)
    }

    @Test(arguments: ["limit=0", "limit=1001", "limit=x", "from=", "from=!", "from=AAAA"])
    func `what is no page is refused`(_ option: String) {
        #expect(client.ask("CHATS alice \(option)")[0].hasPrefix("ERR 400 "))
    }
}
