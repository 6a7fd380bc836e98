import Foundation
import TestKit
import Testing

@testable import GrapevineClient

@Suite struct LinkTests {
    private func connected() -> Link {
        var link = Link(nodes: 3)
        _ = link.set(.connected, now: 0)
        link.streamOpened(1, now: 10)
        link.streamCaughtUp(1)
        return link
    }

    @Test func `a connection is opened, catches up and is online`() {
        var link = Link(nodes: 3)
        #expect(link.state == .signedOut)
        let opened = link.set(.connected, now: 0)
        #expect(opened == [.open(node: 0, stream: 1)] && link.state == .opening)
        link.streamOpened(1, now: 10)
        #expect(link.state == .catchingUp)
        link.streamCaughtUp(1)
        #expect(link.state == .online)
        #expect(link.set(.connected, now: 20).isEmpty)
        #expect(link.set(.paused(.background), now: 30) == [.close])
        #expect(link.state == .paused(.background) && link.deadline == nil)
        #expect(link.set(.signedOut, now: 40).isEmpty && link.state == .signedOut)
    }

    @Test func `the first change of node is immediate, further ones after growing pauses`() {
        var link = connected()
        #expect(link.streamEnded(1, now: 5_000) == [.open(node: 1, stream: 2)])
        var pauses: [Int64] = []
        var now: Int64 = 5_000
        var stream = 2
        for _ in 0..<4 {
            #expect(link.streamEnded(stream, now: now) == [.close] && link.state == .waiting)
            pauses.append((link.deadline ?? 0) - now)
            now = link.deadline ?? 0
            #expect(link.tick(now: now - 1).isEmpty)
            guard case .open(_, let next) = link.tick(now: now).first else { break }
            stream = next
        }
        #expect(pauses == [100, 200, 400, 800])
        // With something that waits, pauses stay below a second.
        link.isEager = true
        for _ in 0..<6 {
            _ = link.streamEnded(stream, now: now)
            #expect((link.deadline ?? 0) - now <= 800)
            now = link.deadline ?? 0
            guard case .open(_, let next) = link.tick(now: now).first else { break }
            stream = next
        }
        #expect(link.state == .opening)
    }

    @Test func `while something waits, a network that is back is noticed by its answers`() {
        var link = connected()
        _ = link.streamEnded(1, now: 5_000)
        #expect(link.tick(now: 5_700).isEmpty && link.deadline == 5_900)
        link.isEager = true
        #expect(link.deadline == 5_700)
        #expect(link.tick(now: 5_700) == [.probe(node: 2, stream: 2)])
        #expect(link.tick(now: 5_800).isEmpty && link.deadline == 5_900)
        #expect(link.probeAnswered(node: 2, stream: 1, now: 5_800).isEmpty)
        let reopened = link.probeAnswered(node: 2, stream: 2, now: 5_800)
        #expect(reopened == [.open(node: 2, stream: 3)])
        link.streamOpened(3, now: 5_810)
        #expect(link.probeAnswered(node: 0, stream: 3, now: 5_820).isEmpty)
    }

    @Test func `a silent node is given up eight seconds after it was last heard`() {
        var link = connected()
        link.streamHeard(1, now: 5_000)
        #expect(link.tick(now: 12_999).isEmpty)
        #expect(link.tick(now: 13_000) == [.open(node: 1, stream: 2)])
        // A node that does not answer a stream is given up sooner.
        #expect(link.tick(now: 13_900) == [.close])
    }

    @Test func `a request without an answer gives the node up, and the next one has more time`() {
        var link = connected()
        #expect(link.requestPatience == 3_000)
        #expect(link.requestUnanswered(node: 2, now: 4_000).isEmpty)
        #expect(link.requestUnanswered(node: 0, now: 4_000) == [.open(node: 1, stream: 2)])
        #expect(link.requestPatience == 6_000)
        link.streamOpened(2, now: 4_100)
        _ = link.requestAnswered(after: 2_000, now: 4_200)
        #expect(link.requestPatience == 6_000)
        _ = link.requestAnswered(after: 20, now: 4_200)
        #expect(link.requestPatience == 3_000)
    }

    @Test func `an earlier stream changes nothing`() {
        var link = connected()
        _ = link.streamEnded(1, now: 5_000)
        link.streamOpened(1, now: 5_001)
        #expect(link.streamEnded(1, now: 5_002).isEmpty && link.state == .opening)
    }

    @Test func `a usable network, the foreground and an answer try at once`() {
        var link = connected()
        _ = link.streamEnded(1, now: 5_000)
        _ = link.streamEnded(2, now: 5_000)
        #expect(link.state == .waiting)
        var other = link
        #expect(link.retry(now: 5_001) == [.open(node: 2, stream: 4)])
        #expect(other.requestAnswered(after: 10, now: 5_001) == [.open(node: 2, stream: 4)])
        var silent = connected()
        #expect(silent.enterForeground(now: 5_009).isEmpty)
        #expect(silent.enterForeground(now: 5_010) == [.open(node: 0, stream: 2)])
    }
}

@Suite struct MarksTests {
    private func mark(_ sent: Int64, _ kind: Marks.Kind = .read) -> Marks.Mark {
        Marks.Mark(
            conversation: "a b", kind: kind, message: "m\(sent)",
            sent: ExactTime(milliseconds: sent))
    }

    @Test func `of several marks the last one is sent, once`() throws {
        var marks = Marks()
        let moved = [mark(3), mark(5), mark(4), mark(5)].map { marks.set($0, now: 0) }
        #expect(moved == [true, true, false, false])
        #expect(marks.due(now: 199).isEmpty)
        #expect(marks.due(now: 200) == [mark(5)])
        #expect(marks.due(now: 500).isEmpty)
        let request = mark(5).request
        #expect(request.path == "/v1/conversations/a%20b/marks/read")
        #expect(
            request.json.map { String(decoding: $0, as: UTF8.self) } == #"{"message":"m5"}"#)
        marks.settle(mark(5), .accepted(at: nil), now: 600)
        #expect(marks.all.isEmpty && marks.deadline == nil)
    }

    @Test func `a further mark that was set meanwhile is sent, too`() {
        var marks = Marks(stored: [mark(5)])
        #expect(marks.due(now: 200) == [mark(5)])
        _ = marks.set(mark(9), now: 210)
        #expect(marks.due(now: 410).isEmpty)
        marks.settle(mark(5), .accepted(at: nil), now: 450)
        #expect(marks.all == [mark(9)])
        #expect(marks.due(now: marks.deadline ?? 0) == [mark(9)])
        marks.settle(mark(9), .unknown(retryAfter: nil), now: 500)
        #expect(marks.all == [mark(9)] && marks.deadline == 1_500)
    }
}

@Suite struct TypingTests {
    @Test func `it is told that the user types, and repeated after three seconds`() {
        var typing = Typing()
        let told = [0, 100, 2_999, 3_000].map {
            typing.set(true, in: "c", isConnected: true, now: $0)
        }
        #expect(told == [true, nil, nil, true])
        let ends = (0..<2).map { _ in typing.set(false, in: "c", isConnected: true, now: 3_100) }
        #expect(ends == [false, nil])
        _ = typing.set(true, in: "c", isConnected: true, now: 4_000)
        typing.noteSent(in: "c")
        let after = typing.set(false, in: "c", isConnected: true, now: 4_100)
        #expect(after == nil)
    }

    @Test func `without a connection nothing is told, and nothing is shown`() {
        var typing = Typing()
        let offline = typing.set(true, in: "c", isConnected: false, now: 0)
        #expect(offline == nil)
        typing.note(true, by: "bob", in: "c", now: 0)
        #expect(typing.users(in: "c") == ["bob"])
        typing.clear()
        #expect(typing.users(in: "c").isEmpty && typing.deadline == nil)
    }

    @Test func `who is not told of any more is shown for seven seconds`() {
        var typing = Typing()
        typing.note(true, by: "bob", in: "c", now: 0)
        typing.note(true, by: "carol", in: "c", now: 1_000)
        typing.note(false, by: "dave", in: "c", now: 1_000)
        #expect(typing.deadline == 7_000)
        typing.tick(now: 7_000)
        #expect(typing.users(in: "c") == ["carol"])
        for number in 0..<50 { typing.note(true, by: "u\(number)", in: "c", now: 7_000) }
        #expect(typing.users(in: "c").count == 20)
    }
}

@Suite struct SignInTests {
    private func signIn() -> SignIn {
        SignIn(
            user: "alice", email: "a@x", accessToken: "A1", refreshToken: "R1", seconds: 600,
            now: 0)
    }

    @Test func `a token is used until shortly before its end, or until it is refused`() {
        let signIn = signIn()
        #expect(signIn.isUsable(now: 569_999) && !signIn.isUsable(now: 570_000))
        #expect(!signIn.isUsable(refused: "A1", now: 0) && signIn.isUsable(refused: "A0", now: 0))
    }

    @Test func `a renewal keeps its name until its answer is stored`() throws {
        var signIn = signIn()
        let first = signIn.renew(as: "n1")
        let stored = try JSONDecoder().decode(
            SignIn.self, from: JSONEncoder().encode(signIn))
        var afterCrash = stored
        #expect(afterCrash.renew(as: "n2") == first)
        #expect(first.body == ["refreshToken": .text("R1"), "id": .text("n1")])
        afterCrash.renewed(accessToken: "A2", refreshToken: "R2", seconds: 600, now: 1_000)
        #expect(afterCrash.renewal == nil && afterCrash.isUsable(refused: "A1", now: 1_000))
        #expect(afterCrash.renew(as: "n3").body["id"] == .text("n3"))
        #expect(SignIn.ends(with: .unauthorized) && !SignIn.ends(with: .noAnswer))
    }
}

@Suite struct NotificationTests {
    private let now = Date(timeIntervalSince1970: 10_000)

    private func decision(
        _ change: (inout Message, inout NotificationContext) -> Void = { _, _ in }
    ) -> NotificationDecision {
        var message = Message(
            id: "m", conversationId: "c", senderId: "bob", text: "hi", createdAt: now)
        var context = NotificationContext(userId: "alice", isInForeground: true, now: now)
        change(&message, &context)
        return notificationDecision(for: message, in: context)
    }

    @Test func `a new message of another notifies, unless it is on screen`() {
        #expect(decision() == .notify)
        #expect(decision { $1.viewedConversationId = "c" } == .silent(.viewing))
        #expect(decision { $1.viewedConversationId = "d" } == .notify)
        let inBackground = decision {
            $1.viewedConversationId = "c"
            $1.isInForeground = false
        }
        #expect(inBackground == .notify)
    }

    @Test func `nothing old, own, missed or known notifies, and a deletion withdraws`() {
        #expect(decision { message, _ in message.senderId = "alice" } == .silent(.own))
        #expect(decision { $1.isNew = false } == .silent(.notNew))
        #expect(decision { $1.isCatchingUp = true } == .silent(.catchingUp))
        #expect(decision { message, _ in message.createdAt -= 60 } == .silent(.old))
        #expect(decision { message, _ in message.createdAt -= 59 } == .notify)
        #expect(decision { message, _ in message.isDeletedForEveryone = true } == .withdraw)
        #expect(decision { message, _ in message.deletedBy = ["alice"] } == .withdraw)
    }
}

@Suite struct SessionTokensTests {
    @Test func `a token replaces those of its process alone, also after a start`() throws {
        var tokens = SessionTokens()
        for (stream, token) in [("p.1", "a"), ("q.7", "b"), ("p.2", "c")] {
            tokens.noteLast(of: stream)
            tokens = try JSONDecoder().decode(
                SessionTokens.self, from: JSONEncoder().encode(tokens))
            tokens.add(last: token)
        }
        #expect(tokens.texts == ["b", "c"])
        // Tokens of a process that has not caught up, and those of writes, replace none.
        tokens.noteLast(of: nil)
        tokens.add(last: "d")
        tokens.add("e")
        #expect(tokens.texts == ["b", "c", "d", "e"])
    }
}
