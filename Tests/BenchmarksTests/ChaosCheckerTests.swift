import Testing

@testable import Benchmarks

/// Each error that the checker looks for is made once, and must be found.
@Suite struct ChaosCheckerTests {
    /// Expectations of three messages in one conversation: the first edited, the second deleted for
    /// everyone, the third deleted by hana for herself.
    private static func expectations() -> Expectations {
        var expectations = Expectations(conversations: 2, ownDisks: [0, 4])
        func done(_ kind: ChaosRequest.Kind, _ message: Int, _ user: Int) {
            let request = ChaosRequest(
                kind: kind, target: message, user: user, time: expectations.time, attempts: 1)
            expectations.onAttempt(request, at: 0)
            expectations.onAcknowledged(request, by: 0, copies: 2)
        }
        for sender in [1, 3, 2] {
            done(.send, expectations.addMessage(in: 0, from: sender), sender)
        }
        done(.edit(expectations.addEdit(of: 0)), 0, 1)
        done(.retract, 1, 3)
        done(.hide, 2, 1)
        return expectations
    }

    private static func line(
        _ message: Int, from: String, text: String, isRetracted: Bool = false
    ) -> HistoryLine {
        HistoryLine(
            id: "m\(message)", from: from, at: "2026-11-21T11:00:0\(message).000Z", text: text,
            isRetracted: isRetracted)
    }

    private static let lines = [
        line(0, from: "hana", text: Expectations.text(of: 0, edit: 0)),
        line(1, from: "sam", text: Expectations.placeholder, isRetracted: true),
        line(2, from: "hugo", text: Expectations.text(of: 2)),
    ]

    private func findings(_ lines: [HistoryLine], for user: Int = 0) -> [String] {
        ChaosChecker(expectations: Self.expectations()).findings(
            inHistory: lines, of: 0, for: user, on: "n1")
    }

    @Test func `what should be there is no finding`() {
        #expect(findings(Self.lines).isEmpty)
        #expect(findings(Array(Self.lines.prefix(2)), for: 1).isEmpty)
    }

    @Test(arguments: 0..<3)
    func `a lost message is found`(lost: Int) {
        var lines = Self.lines
        lines.remove(at: lost)
        #expect(findings(lines).count == 1)
        #expect(findings(lines).first?.contains("m\(lost) was acknowledged") == true)
    }

    @Test func `a deleted text that returns is found, under its mark too`() {
        var lines = Self.lines
        lines[1] = Self.line(1, from: "sam", text: Expectations.text(of: 1))
        #expect(findings(lines).first?.contains("was deleted for everyone and shows") == true)
        lines[1] = Self.line(1, from: "sam", text: Expectations.text(of: 1), isRetracted: true)
        #expect(findings(lines).first?.contains("still shows") == true)
    }

    @Test func `a message that its user deleted and sees again is found`() {
        #expect(findings(Self.lines, for: 1).first?.contains("they deleted it") == true)
    }

    @Test func `a lost edit, a strange text, a stranger, a double and a wrong order are found`() {
        var lines = Self.lines
        lines[0] = Self.line(0, from: "hana", text: Expectations.text(of: 0))
        #expect(findings(lines).first?.contains("its first text") == true)
        lines[0] = Self.line(0, from: "hana", text: "boo")
        #expect(findings(lines).first?.contains("strange") == true)
        #expect(findings(Self.lines + [Self.line(9, from: "sam", text: "")]).count == 1)
        #expect(findings(Self.lines + [Self.lines[2]]).first?.contains("twice") == true)
        #expect(findings(Self.lines.reversed()).count == 2)
        lines = Self.lines
        lines[2] = Self.line(2, from: "hugo", text: Expectations.placeholder, isRetracted: true)
        #expect(findings(lines).first?.contains("nobody asked") == true)
    }

    @Test func `edits that are missing, or of a deleted message, are found`() {
        let checker = ChaosChecker(expectations: Self.expectations())
        let texts = [Expectations.text(of: 0), Expectations.text(of: 0, edit: 0)]
        #expect(checker.findings(inEdits: texts, of: 0, on: "n1").isEmpty)
        #expect(checker.findings(inEdits: [texts[0]], of: 0, on: "n1").count == 1)
        #expect(checker.findings(inEdits: [], of: 0, on: "n1").count == 1)
        #expect(checker.findings(inEdits: texts + ["boo"], of: 0, on: "n1").count == 1)
        #expect(checker.findings(inEdits: [], of: 1, on: "n1").isEmpty)
        #expect(checker.findings(inEdits: ["text"], of: 1, on: "n1").count == 1)
    }

    @Test func `of a message that was sent twice the earlier stands, with the edits of both`() {
        var expectations = Self.expectations()
        let request = ChaosRequest(kind: .send, target: 0, user: 1, time: 0, attempts: 2)
        expectations.onAcknowledged(request, by: 0, copies: 2, at: "2026-11-21T11:00:00.001Z")
        var checker = ChaosChecker(expectations: expectations)
        let lines = [Self.line(0, from: "hana", text: Expectations.text(of: 0))] + Self.lines[1...]
        func findings() -> [String] {
            checker.findings(inHistory: lines, of: 0, for: 0, on: "n1")
                + checker.findings(inEdits: [Expectations.text(of: 0)], of: 0, on: "n1")
        }
        #expect(findings().count == 2)
        checker.takeTimes(of: lines, in: 0)
        #expect(checker.sentTwice == [0])
        #expect(findings().count == 2)
    }

    @Test func `a node that shows what it had acknowledged as deleted is found at once`() {
        let expectations = Self.expectations()
        let checker = ChaosChecker(expectations: expectations)
        let stale = [Self.line(1, from: "sam", text: Expectations.text(of: 1))]
        func findings(asked time: Int, on node: Int) -> [String] {
            let request = ChaosRequest(
                kind: .history, target: 0, user: 0, time: time, attempts: 1)
            return checker.findings(inReply: stale, to: request, by: node)
        }
        #expect(findings(asked: expectations.time, on: 0).count == 1)
        #expect(findings(asked: 0, on: 0).isEmpty)
        #expect(findings(asked: expectations.time, on: 1).isEmpty)
    }

    @Test func `nodes that differ are found, also where one only has more`() {
        func slices(_ lines: [String]) -> [ArraySlice<UInt8>] { lines.map { Array($0.utf8)[...] } }
        func difference(_ first: [String], _ other: [String]) -> String? {
            ChaosChecker.difference(slices(first), slices(other), between: ["n1", "n2"])
        }
        #expect(difference(["a", "b"], ["a", "b"]) == nil)
        #expect(difference(["a", "b"], ["a", "c"])?.contains("line 1: 'b' against 'c'") == true)
        #expect(difference(["a"], ["a", "c"])?.contains("'nothing' against 'c'") == true)
        #expect(difference([], ["a"])?.contains("line 0") == true)
    }

    @Test func `what only a lost disk held may be missing`() {
        var expectations = Self.expectations()
        let message = expectations.addMessage(in: 0, from: 3)
        let request = ChaosRequest(kind: .send, target: message, user: 3, time: 0, attempts: 1)
        expectations.onAcknowledged(request, by: 4, copies: 1)
        func findings() -> [String] {
            ChaosChecker(expectations: expectations).findings(
                inHistory: Self.lines, of: 0, for: 0, on: "n1")
        }
        #expect(findings().count == 1)
        expectations.onWipe(of: 4)
        #expect(findings().isEmpty)
    }
}
