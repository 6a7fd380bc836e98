import Foundation
import Testing

@testable import GrapevineClient

/// What the user has done and no node has accepted: requests, rules, and how it is shown.
@Suite struct OperationTests {
    private func time(_ milliseconds: Int64) -> ExactTime { ExactTime(milliseconds: milliseconds) }

    private func record(
        _ id: String, _ sent: Int64, by sender: String = "alice"
    ) -> MessageRecord {
        var record = MessageRecord(id: id, sent: time(sent))
        record.content = MessageRecord.Content(sender: sender)
        record.text = Register(id, at: .zero)
        return record
    }

    private func overlay(_ actions: Action..., marks: [MarkRecord] = []) -> Overlay {
        var conversation = ConversationRecord(id: "c")
        conversation.row = ConversationRecord.Row(
            participants: ["alice", "bob"], created: time(0), unread: 0)
        let operations = zip(1..., actions).map {
            Operation(number: UInt64($0), action: $1, created: 50)
        }
        return Overlay(
            user: "alice", conversation: conversation, marks: marks, operations: operations)
    }

    private let requests: [(Action, String)] = [
        (
            .create(conversation: "c", title: "", emails: ["b@x"]),
            #"POST /v1/conversations {"emails":["b@x"],"id":"c"}"#
        ),
        (
            .send(conversation: "c", message: "m", Action.Draft(text: "hi")),
            #"POST /v1/conversations/c/messages {"id":"m","text":"hi","type":"text"}"#
        ),
        (
            .edit(conversation: "c", message: "m", text: "ho"),
            #"PATCH /v1/conversations/c/messages/m {"text":"ho"}"#
        ),
        (
            .delete(conversation: "c", message: "m"),
            "DELETE /v1/conversations/c/messages/m?for=me"
        ),
        (
            .deleteForEveryone(conversation: "c", message: "m"),
            "DELETE /v1/conversations/c/messages/m?for=everyone"
        ),
        (
            .restore(conversation: "c", message: "m"),
            "POST /v1/conversations/c/messages/m/restore"
        ),
        (.pin(conversation: "c", message: "m"), "PUT /v1/conversations/c/pins/m"),
        (.unpin(conversation: "c", message: "m"), "DELETE /v1/conversations/c/pins/m"),
        (.archive(conversation: "a b/c"), "PUT /v1/chats/a%20b%2Fc/archive"),
        (.unarchive(conversation: "c"), "DELETE /v1/chats/c/archive"),
        (.hide(conversation: "c", through: nil), "DELETE /v1/chats/c"),
        (.leave(conversation: "c"), "POST /v1/conversations/c/leave"),
        (
            .addItem(Action.ItemDraft(id: "i", title: "milk")),
            #"POST /v1/items {"id":"i","title":"milk"}"#
        ),
        (
            .editItem(item: "i", Action.ItemChanges(priority: Maybe())),
            #"PATCH /v1/items/i {"priority":null}"#
        ),
        (.completeItem(item: "i", isDone: true), "PUT /v1/items/i/done"),
        (.completeItem(item: "i", isDone: false), "DELETE /v1/items/i/done"),
        (.deleteItem(item: "i"), "DELETE /v1/items/i"),
        (.setProfile(name: "Al", photo: nil), #"PATCH /v1/profile {"name":"Al"}"#),
    ]

    @Test func `each action has its request, is stored, and read again`() throws {
        for (action, expected) in requests {
            let request = action.request
            let body = request.json.map { " " + String(decoding: $0, as: UTF8.self) } ?? ""
            #expect("\(request.method.rawValue) \(request.path)\(body)" == expected)
            #expect(
                request.exact.path == request.path
                    + (request.path.contains("?") ? "&" : "?") + "times=exact")
            let operation = Operation(number: 7, action: action, created: 1)
            let stored = try JSONEncoder().encode(operation)
            #expect(try JSONDecoder().decode(Operation.self, from: stored) == operation)
        }
    }

    @Test func `a stamp is the device, the number and the time`() {
        let stamp = Operation.Stamp(device: "phone", number: 7, time: time(1_795_999_056_235))
        #expect(stamp.description == "phone.7.2026-11-30T00:37:36.235000000Z")
    }

    @Test func `an accepted action that is merged is what was shown`() {
        let first = record("a", 1, by: "bob")
        for (action, _) in requests where action.message != nil && !action.isTimedByNodes {
            guard case .message(let change, _) = action.consequence(at: time(60), user: "alice")
            else { continue }
            var known = MessageRecord(id: "m", sent: first.sent, content: first.content)
            known.text = first.text
            let shown = overlay(action).messages([known]).map { ($0.text, $0.isPinned) }
            known.merge(change)
            let merged = overlay().messages([known]).map { ($0.text, $0.isPinned) }
            #expect(shown.map(\.0) == merged.map(\.0) && shown.map(\.1) == merged.map(\.1))
        }
    }

    @Test func `rules are judged in the order of nodes`() {
        let now = Date(timeIntervalSince1970: 1_000)
        let mine = Message(
            id: "m", conversationId: "c", senderId: "alice", text: "hi", createdAt: now)
        var others = mine
        others.senderId = "bob"
        let edit = Action.edit(conversation: "c", message: "m", text: "ho")
        let empty = Action.edit(conversation: "c", message: "m", text: " \n\t")
        let retract = Action.deleteForEveryone(conversation: "c", message: "m")
        #expect(empty.refusal(user: nil, message: nil, now: now) == .unauthorized)
        #expect(empty.refusal(user: "alice", message: nil, now: now) == .emptyMessage)
        #expect(edit.refusal(user: "alice", message: nil, now: now) == .messageNotFound)
        #expect(edit.refusal(user: "alice", message: others, now: now) == .notEditable)
        #expect(edit.refusal(user: "alice", message: mine, now: now) == nil)
        let late = now.addingTimeInterval(15 * 60)
        #expect(edit.refusal(user: "alice", message: mine, now: late) == .notEditable)
        #expect(retract.refusal(user: "alice", message: others, now: now) == .notSender)
        #expect(retract.refusal(user: "alice", message: mine, now: now) == nil)
        let restore = Action.restore(conversation: "c", message: "m")
        #expect(restore.refusal(user: "alice", message: nil, now: now) == nil)
    }

    @Test func `a pending change is laid over, and leaves the records as they are`() {
        let records = [record("a", 1), record("b", 2)]
        let view = overlay(
            .edit(conversation: "c", message: "a", text: "A"),
            .delete(conversation: "c", message: "b"),
            .send(conversation: "c", message: "m", Action.Draft(text: "m")),
            .edit(conversation: "c", message: "m", text: "M"))
        let messages = view.messages(records)
        #expect(messages.map(\.text) == ["A", "M"])
        #expect(messages.map(\.status) == [.sent, .waiting])
        #expect(overlay().messages(records).map(\.text) == ["a", "b"])
    }

    @Test func `what arrives meanwhile stays, also other fields of the same message`() {
        var first = record("a", 1)
        let delete = Action.delete(conversation: "c", message: "a")
        first.pin.merge(Register(Maybe("bob"), at: time(70)))
        let records = [first, record("b", 2, by: "bob")]
        #expect(overlay(delete).messages(records).map(\.id) == ["b"])
        let taken = overlay().messages(records)
        #expect(taken.map(\.id) == ["a", "b"] && taken[0].pinnedBy == "bob")
    }

    @Test func `the user's own change holds over an older and a newer state until it is answered`()
    {
        var first = record("a", 1)
        first.hidden = Register(.no, at: time(90))
        #expect(overlay(.delete(conversation: "c", message: "a")).messages([first]).isEmpty)
        first.hidden = Register(.yes, at: time(95))
        let restored = overlay(.restore(conversation: "c", message: "a")).messages([first])
        #expect(restored.map(\.id) == ["a"])
        first.pin = Register(Maybe("bob"), at: time(99))
        let unpin = overlay(
            .restore(conversation: "c", message: "a"), .unpin(conversation: "c", message: "a"))
        #expect(unpin.pins([first]).isEmpty)
    }

    @Test func `nothing brings back the text of what was deleted for everyone`() {
        var others = record("a", 1, by: "bob")
        others.delete(at: time(5))
        let view = overlay(
            .edit(conversation: "c", message: "a", text: "A"),
            .pin(conversation: "c", message: "a"), .restore(conversation: "c", message: "a"))
        #expect(view.messages([others]).map(\.text) == [Message.deletedText])
        #expect(view.pins([others]).isEmpty)
        // Of one's own message no notice is left.
        var mine = record("b", 2)
        mine.delete(at: time(5))
        #expect(overlay().messages([mine]).isEmpty)
        let delete = Action.deleteForEveryone(conversation: "c", message: "d")
        #expect(overlay(delete).messages([record("d", 3)]).isEmpty)
    }

    @Test func `a waiting message of which a part is known waits until it is known whole`() {
        var part = MessageRecord(id: "m", sent: time(9))
        part.pin = Register(Maybe("bob"), at: time(10))
        let send = Action.send(conversation: "c", message: "m", Action.Draft(text: "m"))
        let messages = overlay(send).messages([record("z", 99), part])
        #expect(messages.map(\.id) == ["z", "m"] && messages[1].isPinned)
        #expect(messages[1].status == .waiting)
        #expect(overlay(send).messages([record("m", 9)]).map(\.status) == [.sent])
    }

    @Test func `a hidden chat shows what has arrived since, a chat that is left nothing`() {
        let records = [record("a", 1), record("b", 2)]
        let hide = Action.hide(conversation: "c", through: time(1))
        #expect(overlay(hide).messages(records).map(\.id) == ["b"])
        #expect(overlay(.leave(conversation: "c")).messages(records).isEmpty)
        #expect(overlay(.archive(conversation: "c")).isArchived)
        #expect(!overlay(.archive(conversation: "c"), .unarchive(conversation: "c")).isArchived)
    }

    @Test func `a message is read when all others have read it`() {
        let read = MarkRecord.Position(message: "a", sent: time(1), at: time(8))
        let received = MarkRecord.Position(message: "b", sent: time(2), at: time(9))
        let marks = [MarkRecord(user: "bob", read: read, delivered: received)]
        let messages = overlay(marks: marks).messages([record("a", 1), record("b", 2)])
        #expect(messages.map(\.status) == [.read, .delivered])
        #expect(messages.map(\.isRead) == [true, false])
        #expect(messages[0].readAt == Date(timeIntervalSince1970: 0.008))
        #expect(messages[1].deliveredAt == Date(timeIntervalSince1970: 0.009))
        #expect(messages[0].deliveredTo == ["bob"])
    }

    @Test func `who has read a message has received it, and its sender is not counted`() {
        let read = MarkRecord.Position(message: "a", sent: time(1), at: time(8))
        let marks = ["alice", "bob"].map { MarkRecord(user: $0, read: read) }
        for (sender, other) in [("alice", "bob"), ("bob", "alice")] {
            let message = overlay(marks: marks).messages([record("a", 1, by: sender)])[0]
            #expect(message.readBy == [other])
            #expect(message.deliveredTo == [other])
            #expect(message.deliveredAt == Date(timeIntervalSince1970: 0.008))
        }
    }

    @Test func `a refused creation takes along what needs it`() {
        let send = Action.send(conversation: "c", message: "m", Action.Draft(text: "m"))
        let create = Action.create(conversation: "c", title: "", emails: [])
        let pin = Action.pin(conversation: "c", message: "m")
        #expect(create.isNeeded(by: send) && send.isNeeded(by: pin) && !pin.isNeeded(by: send))
        #expect(!send.isNeeded(by: .pin(conversation: "c", message: "n")))
        #expect(create.lane == send.lane)
    }
}

extension Overlay {
    func messages(_ records: [MessageRecord]) -> [Message] { messages(laid(records)) }
}
