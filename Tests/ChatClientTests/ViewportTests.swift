import LineProtocol
import Testing

@testable import ChatClient

@Suite struct ViewportTests {
    private func position(_ number: Int) -> Position {
        Position(at: Int64(1_000 + number), id: "m")
    }

    /// Returns rows, one for each message.
    private func rows(_ numbers: some Sequence<Int>) -> [ChatRow] {
        numbers.compactMap { number in
            let at = LineTime.text(position(number).at)
            guard case .data(_, let fields) = ReplyLine("MESSAGE id=m from=bob at=\(at)"),
                let message = Message(fields)
            else { return nil }
            return ChatRow(
                anchor: ChatRow.Anchor(position: message.position, row: 0),
                line: Screen.Line("\(number)"), message: message)
        }
    }

    private func shown(_ viewport: Viewport, _ rows: [ChatRow]) -> String {
        let first = viewport.firstRow(of: rows, height: 3)
        return rows[first...].prefix(3).map(\.line.text).joined(separator: " ")
    }

    @Test func `the newest is followed, until somebody scrolls back`() {
        var viewport = Viewport()
        #expect(shown(viewport, rows(1...5)) == "3 4 5")
        #expect(shown(viewport, rows(1...9)) == "7 8 9")
        _ = viewport.scroll(by: -2, in: rows(1...9), height: 3)
        #expect(shown(viewport, rows(1...9)) == "5 6 7")
        #expect(shown(viewport, rows(1...20)) == "5 6 7")
        #expect(shown(viewport, rows(-20...20)) == "5 6 7")
        // The message at the top disappears: the next one is at the top.
        #expect(shown(viewport, rows([1, 2, 6, 7, 8, 9, 10])) == "6 7 8")
    }

    @Test func `neither end can be scrolled beyond`() {
        var viewport = Viewport()
        for _ in 0..<9 { _ = viewport.scroll(by: -2, in: rows(1...6), height: 3) }
        #expect(shown(viewport, rows(1...6)) == "1 2 3")
        let isAtTop = viewport.scroll(by: -2, in: rows(1...6), height: 3)
        #expect(isAtTop)
        _ = viewport.scroll(by: 2, in: rows(1...6), height: 3)
        #expect(shown(viewport, rows(1...6)) == "3 4 5")
        for _ in 0..<9 { _ = viewport.scroll(by: 2, in: rows(1...6), height: 3) }
        #expect(shown(viewport, rows(1...6)) == "4 5 6")
        #expect(viewport.isFollowing)
        #expect(shown(viewport, rows(1...2)) == "1 2")
    }

    @Test func `what has not been scrolled down to is counted`() {
        var viewport = Viewport()
        viewport.settle(in: rows(1...6), height: 3)
        _ = viewport.scroll(by: -2, in: rows(1...6), height: 3)
        viewport.settle(in: rows(1...6), height: 3)
        #expect(viewport.unseen(in: rows(1...6)) == 0)
        #expect(viewport.unseen(in: rows(1...8)) == 2)
        for unseen in [1, 0] {
            _ = viewport.scroll(by: 3, in: rows(1...8), height: 3)
            viewport.settle(in: rows(1...8), height: 3)
            #expect(viewport.unseen(in: rows(1...8)) == unseen)
        }
    }

    @Test func `a chat begins at what is unread, and follows where all of it fits`() {
        var viewport = Viewport()
        viewport.begin(at: position(4))
        #expect(shown(viewport, rows(1...9)) == "4 5 6")
        viewport.settle(in: rows(1...9), height: 3)
        #expect(viewport.unseen(in: rows(1...9)) == 3)
        var other = Viewport()
        other.begin(at: position(5))
        other.settle(in: rows(1...6), height: 3)
        #expect(other.isFollowing)
    }
}
