import LineProtocol
import Testing

@testable import Benchmarks

/// Each error that is looked for after a scripted user's run is made once, and must be found.
@Suite struct ScriptedExpectationsTests {
    private static func fields(_ line: String) -> [ReplyFields] {
        guard case .data(_, let fields) = ReplyLine(Array(line.utf8)[...]) else { return [] }
        return [fields]
    }

    private static func line(
        _ id: String, _ text: String, isRetracted: Bool = false
    ) -> HistoryLine {
        HistoryLine(id: id, from: "otto0", at: "1", text: text, isRetracted: isRetracted)
    }

    /// Expectations of a note that was edited, an item that is done, and one that is deleted.
    private static func expectations() -> ScriptedExpectations {
        var expectations = ScriptedExpectations(0)
        var note = ScriptedExpectations.Note()
        note.isCertain = true
        for text in ["one", "two"] {
            note.text.onAttempt(text)
            note.text.onAcknowledged(text)
        }
        expectations.notes["note"] = note
        var item = ScriptedExpectations.Item()
        item.isCertain = true
        item.title.onAttempt("title")
        item.title.onAcknowledged("title")
        item.isDone.onAcknowledged("true")
        expectations.items["item"] = item
        item.isDeletionAsked = true
        item.isDeleted = true
        expectations.items["deleted"] = item
        return expectations
    }

    @Test func `the last value stands, unless one that nobody answered came later`() {
        var value = LastValue()
        #expect(value.finding(about: nil) == nil)
        for text in ["a", "b"] {
            value.onAttempt(text)
            value.onAcknowledged(text)
        }
        value.onAttempt("c")
        #expect(value.finding(about: "b") == nil)
        #expect(value.finding(about: "c") == nil)
        #expect(value.finding(about: "a") != nil)
        #expect(value.finding(about: nil) != nil)
        value.onRefused("c")
        #expect(value.finding(about: "c") != nil)
        value.onWipe()
        #expect(value.finding(about: "a") == nil)
        #expect(value.finding(about: "x") != nil)
    }

    @Test func `an item that lacks, comes back, or has an older field is found`() {
        let expectations = Self.expectations()
        let item = Self.fields("ACTION id=item done=true title=title")
        #expect(expectations.findings(inItems: item).isEmpty)
        #expect(expectations.findings(inItems: []).count == 1)
        #expect(expectations.findings(inItems: item + item).count == 1)
        #expect(
            expectations.findings(inItems: Self.fields("ACTION id=item title=title")).count == 1)
        let deleted = Self.fields("ACTION id=deleted done=true title=title")
        #expect(expectations.findings(inItems: item + deleted).count == 1)
    }

    @Test func `what is typed, older or missing is found in the history`() {
        let expectations = Self.expectations()
        #expect(expectations.findings(inHistory: [Self.line("note", "two")]).isEmpty)
        #expect(expectations.findings(inHistory: [Self.line("note", "one")]).count == 1)
        #expect(expectations.findings(inHistory: []).count == 1)
        let typed = [Self.line("note", "two"), Self.line("typed", "")]
        #expect(expectations.findings(inHistory: typed).count == 1)
    }

    @Test func `a session that goes back is found`() {
        let expectations = Self.expectations()
        let seen = [Self.line("note", "two", isRetracted: true)]
        #expect(expectations.findings(in: seen, after: seen).isEmpty)
        #expect(expectations.findings(in: [Self.line("note", "two")], after: seen).count == 1)
        #expect(expectations.findings(in: [], after: seen).count == 1)
        let text = [Self.line("note", "two")]
        #expect(expectations.findings(in: [Self.line("note", "one")], after: text).count == 1)
    }

    @Test func `a notification that is lost, twice there or back again is found`() {
        var expectations = Self.expectations()
        let list = Self.fields("NOTIFICATION id=1 kind=message message=note")
        #expect(expectations.findings(inLastNotifications: list).isEmpty)
        #expect(expectations.findings(inLastNotifications: []).count == 1)
        let again = Self.fields("NOTIFICATION id=2 kind=message message=note")
        #expect(expectations.findings(inLastNotifications: list + again).count == 1)
        expectations.listed = ["note"]
        expectations.acknowledged = ["1"]
        #expect(expectations.findings(inLastNotifications: []).isEmpty)
        #expect(expectations.findings(inLastNotifications: list).count == 1)
    }

    @Test func `what was hidden stays so, and what came later shows`() {
        var expectations = ScriptedExpectations(0)
        expectations.allHidable = ["a", "b"]
        expectations.hidden = ["a"]
        expectations.unhidden = ["b"]
        #expect(expectations.findings(inHidable: [Self.line("b", "")]).isEmpty)
        #expect(
            expectations.findings(inHidable: [Self.line("a", ""), Self.line("b", "")]).count == 1)
        #expect(expectations.findings(inHidable: []).count == 1)
    }
}
