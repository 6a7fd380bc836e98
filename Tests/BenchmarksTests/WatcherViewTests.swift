import LineProtocol
import Testing

@testable import Benchmarks

/// The view that a watcher builds from its events, and each way to miss one.
@Suite struct WatcherViewTests {
    private static let message =
        "EVENT kind=message conversation=c0 by=hugo id=m0 from=hugo at=1 type=text text=first"

    private static func line(
        _ text: String = "first", isRetracted: Bool = false, isEdited: Bool = false,
        isPinned: Bool = false
    ) -> HistoryLine {
        var line = HistoryLine(
            id: "m0", from: "hugo", at: "1", text: text, isRetracted: isRetracted)
        line.isEdited = isEdited
        line.isPinned = isPinned
        return line
    }

    private func view(_ events: String..., by disk: Int? = 0) -> WatcherView {
        var view = WatcherView(of: "hana", in: ["c0"])
        for event in events { tell(event, to: &view, by: disk) }
        return view
    }

    private func tell(_ event: String, to view: inout WatcherView, by disk: Int? = 0) {
        guard case .data(_, let fields) = ReplyLine(Array(event.utf8)[...]) else { return }
        view.onEvent(fields, from: disk)
    }

    private func findings(_ view: WatcherView, _ history: HistoryLine...) -> Int {
        view.differences(from: history, in: "c0").findings.count
    }

    @Test func `a message is as the last event says`() {
        let edit =
            "EVENT kind=edit conversation=c0 by=hugo id=m0 from=hugo at=1 edited=2 text=second"
        let pin = "EVENT kind=pin conversation=c0 by=sam id=m0"
        let all = view(Self.message, edit, pin)
        #expect(findings(all, Self.line("second", isEdited: true, isPinned: true)) == 0)
        #expect(findings(view(Self.message, pin), Self.line("second", isEdited: true)) == 1)
        #expect(findings(view(Self.message, edit), Self.line("second")) == 1)
        #expect(findings(view(Self.message), Self.line(isPinned: true)) == 1)
        #expect(findings(view(), Self.line()) == 1)
        #expect(findings(view(Self.message)) == 1)
    }

    @Test func `what was deleted is gone for this user, or a placeholder`() {
        let everyone = "EVENT kind=delete conversation=c0 by=hugo id=m0 for=everyone"
        let mine = "EVENT kind=delete conversation=c0 by=hana id=m0 for=me"
        let placeholder = Self.line(Expectations.placeholder, isRetracted: true)
        #expect(findings(view(Self.message, everyone), placeholder) == 0)
        #expect(findings(view(Self.message), placeholder) == 1)
        #expect(findings(view(Self.message, everyone), Self.line()) == 1)
        #expect(findings(view(Self.message, mine)) == 0)
        #expect(findings(view(Self.message, mine), Self.line()) == 1)
        let restore = "EVENT kind=restore conversation=c0 by=hana id=m0 from=hugo at=1 text=first"
        #expect(findings(view(Self.message, mine, restore), Self.line()) == 0)
    }

    @Test func `who comes in reads what was there, and what was told since is newer`() {
        var view = view("EVENT kind=member conversation=c0 by=hana user=hana change=left")
        #expect(view.differences(from: nil, in: "c0").findings.isEmpty)
        #expect(findings(view, Self.line()) == 1)
        tell("EVENT kind=member conversation=c0 by=sam user=hana change=added", to: &view)
        #expect(view.unread == "c0")
        #expect(findings(view, Self.line()) == 1)
        tell(Self.message, to: &view)
        let old = "MESSAGE id=m0 from=hugo at=1 text=older"
        guard case .data(_, let fields) = ReplyLine(Array(old.utf8)[...]) else { return }
        view.onHistory([fields], of: "c0")
        #expect(view.unread == nil)
        #expect(findings(view, Self.line()) == 0)
    }

    @Test func `what was told before the user left is not taken for what was told since`() {
        var view = view(
            Self.message,
            "EVENT kind=member conversation=c0 by=hana user=hana change=left",
            // Somebody edits the message meanwhile.
            "EVENT kind=member conversation=c0 by=sam user=hana change=added",
            "EVENT kind=pin conversation=c0 by=sam id=m0")
        let edited = "MESSAGE id=m0 from=hugo at=1 type=text edited=2 text=second"
        guard case .data(_, let fields) = ReplyLine(Array(edited.utf8)[...]) else { return }
        view.onHistory([fields], of: "c0")
        #expect(findings(view, Self.line("second", isEdited: true, isPinned: true)) == 0)
        #expect(findings(view, Self.line(isPinned: true)) == 1)
    }

    @Test func `what a lost disk alone may have held is excused`() {
        var view = view(Self.message, by: 2)
        view.onWipe(of: 1)
        #expect(findings(view) == 1)
        view.onWipe(of: 2)
        #expect(findings(view) == 0)
        #expect(view.differences(from: [], in: "c0").excused == 1)
    }
}
