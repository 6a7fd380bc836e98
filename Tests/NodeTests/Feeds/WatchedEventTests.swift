import CRDT
import Chat
import Testing
import Wire

@testable import Node

@Suite struct WatchedEventTests {
    private let event = WatchedEvent(
        Chat.Event(
            .archive, in: ConversationID(checked: "c"), by: UserID(checked: "bob"),
            at: HybridTimestamp(milliseconds: 9)), on: InlineExecutor())

    @Test func `its line is rendered once`() {
        var rendered = 0
        let lines = (0..<3).map { _ in
            event.assumeIsolated { event in
                event.line { _ in
                    rendered += 1
                    return [UInt8(rendered)]
                }
            }
        }
        #expect(rendered == 1)
        #expect(lines == [[1], [1], [1]])
    }

    @Test func `the first that keeps it and the last that lets go are told so`() {
        let firsts = (0..<3).map { _ in event.assumeIsolated { $0.keep() } }
        #expect(firsts == [true, false, false])
        let lasts = (0..<3).map { _ in event.assumeIsolated { $0.letGo() } }
        #expect(lasts == [false, false, true])
        let isFirstAgain = event.assumeIsolated { $0.keep() }
        #expect(isFirstAgain)
    }
}
