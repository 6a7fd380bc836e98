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

    @Test(arguments: EventForm.allCases)
    func `it is rendered once in each form`(form: EventForm) {
        var rendered = 0
        let bytes = (0..<3).map { _ in
            event.assumeIsolated { event in
                event.rendered(as: form) { _ in
                    rendered += 1
                    return ("archive", [UInt8(rendered)])
                }.bytes
            }
        }
        #expect(rendered == 1)
        #expect(bytes == [[1], [1], [1]])
    }

    @Test func `the first that keeps it and the last that lets go are told so`() {
        let event = RenderedEvent("archive", [], on: InlineExecutor())
        let firsts = (0..<3).map { _ in event.assumeIsolated { $0.keep() } }
        #expect(firsts == [true, false, false])
        let lasts = (0..<3).map { _ in event.assumeIsolated { $0.letGo() } }
        #expect(lasts == [false, false, true])
        let isFirstAgain = event.assumeIsolated { $0.keep() }
        #expect(isFirstAgain)
    }
}
