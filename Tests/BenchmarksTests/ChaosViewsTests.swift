import Testing

@testable import Benchmarks

/// Each error that the checker looks for in lists is made once, and must be found.
@Suite struct ChaosViewsTests {
    private static let (hana, hugo, sam, gita, goran) = (1, 2, 3, 4, 5)

    /// Expectations of one conversation with three messages of hugo's.
    ///
    /// The second is pinned, the third deleted for everyone. Hana has archived the conversation and
    /// read the first message, gita was invited.
    private static func expectations() -> Expectations {
        var expectations = Expectations(conversations: 1, ownDisks: [0])
        func done(_ kind: ChaosRequest.Kind, _ target: Int, _ user: Int) {
            let request = ChaosRequest(
                kind: kind, target: target, user: user, time: expectations.time, attempts: 1)
            expectations.onAttempt(request, at: 0)
            expectations.onAcknowledged(request, by: 0, copies: 2)
        }
        for _ in 0..<3 { done(.send, expectations.addMessage(in: 0, from: hugo), hugo) }
        done(.turn(.pin, isOn: true), 1, sam)
        done(.retract, 2, hugo)
        done(.turn(.archive, isOn: true), 0, hana)
        done(.turn(.presence, isOn: true), 0, gita)
        done(.read, 0, hana)
        return expectations
    }

    private static let history = [
        line(0, text: Expectations.text(of: 0)), line(1, text: Expectations.text(of: 1)),
        line(2, text: Expectations.placeholder, isRetracted: true),
    ]

    private static func line(
        _ message: Int, text: String, isRetracted: Bool = false
    ) -> HistoryLine {
        HistoryLine(
            id: "m\(message)", from: "hugo", at: "2026-11-21T11:00:0\(message).000Z", text: text,
            isRetracted: isRetracted)
    }

    private static func chat(
        _ id: String = "c0", unread: Int = 1, isArchived: Bool = true,
        without missing: String = "goran", last: Int = 1, at: String = "2026"
    ) -> ChatLine {
        ChatLine(
            id: id, unread: unread, isArchived: isArchived,
            participants: Expectations.users.filter { $0 != missing }, last: "m\(last)", lastAt: at,
            lastText: Expectations.text(of: last))
    }

    private func findings(_ chats: [ChatLine], of user: Int = hana) -> [String] {
        var views = UserViews()
        views.all = chats
        views.active = chats.filter { !$0.isArchived }
        views.archived = chats.filter(\.isArchived)
        for chat in chats where chat.unread > 0 { views.unread[chat.id] = chat.unread }
        views.histories[0] = Self.history
        return ChaosChecker(expectations: Self.expectations()).findings(
            inViews: views, of: user, on: "n1")
    }

    @Test func `what should be there is no finding`() {
        #expect(findings([Self.chat()]).isEmpty)
        #expect(findings([Self.chat(unread: 0)]).isEmpty)
        #expect(findings([Self.chat(unread: 2, isArchived: false)], of: Self.sam).isEmpty)
        #expect(findings([Self.chat(unread: 2, isArchived: false)], of: Self.gita).isEmpty)
        #expect(findings([], of: Self.goran).isEmpty)
    }

    @Test(arguments: [
        ([], hana, "is missing"), ([chat(), chat()], hana, "twice"),
        ([chat(), chat("c9", unread: 0, at: "2025")], hana, "strange"),
        ([chat(isArchived: false)], hana, "was archived and is not"),
        ([chat(unread: 2)], sam, "archived by nobody"),
        ([chat(without: "gita")], hana, "lacks gita"), ([chat(without: "")], hana, "has goran"),
        ([chat(last: 0)], hana, "as its last"), ([chat(unread: 2)], hana, "behind a mark"),
        ([chat(isArchived: false)], sam, "1 unread of 2"), ([], gita, "is missing"),
        ([chat(isArchived: false)], goran, "never invited"),
        ([chat("c9", unread: 0, at: "2025"), chat()], hana, "not latest first"),
    ])
    func `a wrong list is found`(chats: [ChatLine], user: Int, words: String) {
        let findings = findings(chats, of: user)
        #expect(findings.contains { $0.contains(words) }, "\(findings)")
    }

    @Test func `lists that do not fit together are found`() {
        var views = UserViews()
        views.all = [Self.chat()]
        views.histories[0] = Self.history
        let checker = ChaosChecker(expectations: Self.expectations())
        let findings = checker.findings(inViews: views, of: Self.hana, on: "n1")
        #expect(findings.count == 2)
        #expect(findings[0].contains("do not make up all"))
        #expect(findings[1].contains("count differently"))
    }

    @Test func `a lost pin, one of nobody, and one of a deleted message are found`() {
        let checker = ChaosChecker(expectations: Self.expectations())
        func findings(_ lines: [HistoryLine]) -> [String] {
            checker.findings(inPinned: lines, of: 0, on: "n1")
        }
        #expect(findings([Self.history[1]]).isEmpty)
        #expect(findings([]) == ["n1: PINNED c0 lacks m1"])
        #expect(findings([Self.history[1], Self.history[0]]).count == 1)
        #expect(findings([Self.history[1], Self.history[2]]).count == 2)
    }
}
