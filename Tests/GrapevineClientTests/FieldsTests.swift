import Foundation
import Testing

@testable import GrapevineClient

/// What events and answers of nodes tell.
@Suite struct FieldsTests {
    private let sent = ExactTime(milliseconds: 1_795_999_056_235)
    private let changed = ExactTime(milliseconds: 1_795_999_057_045)

    private func update(_ json: String) throws -> Update? {
        let fields = try JSONDecoder().decode(Fields.self, from: Data(json.utf8))
        return fields.update(for: "bob")
    }

    private func event(_ kind: String, _ rest: String) -> String {
        """
        {"kind":"\(kind)","conversation":"lunch","by":"alice","at":"\(changed)","id":"m1",
         "seq":"01","sent":"\(sent)","token":"T"\(rest)}
        """
    }

    private func message(_ change: (inout MessageRecord) -> Void) -> Update {
        var record = MessageRecord(id: "m1", sent: sent)
        change(&record)
        return .message(record, conversation: "lunch")
    }

    private let alice = MessageRecord.Content(sender: "alice")

    @Test func `events about a message`() throws {
        let whole = #","from":"alice","type":"text","text":"hi","edited":"\#(changed)""#
        let new = #","from":"alice","type":"text","text":"hi""#
        let expected: [(kind: String, rest: String, update: Update)] = [
            ("message", new, message { $0.set(content: alice, text: Register("hi", at: .zero)) }),
            ("edit", whole, message { $0.set(content: alice, text: Register("hi", at: changed)) }),
            (
                "restore", whole,
                message {
                    $0.set(content: alice, text: Register("hi", at: changed))
                    $0.hidden = Register(.no, at: changed)
                }
            ),
            ("delete", #","for":"me""#, message { $0.hidden = Register(.yes, at: changed) }),
            (
                "delete", #","for":"everyone""#,
                message {
                    $0.content = alice
                    $0.delete(at: changed)
                }
            ),
            ("pin", "", message { $0.pin = Register(Maybe("alice"), at: changed) }),
            ("unpin", "", message { $0.pin = Register(Maybe(), at: changed) }),
        ]
        for (kind, rest, update) in expected {
            #expect(try self.update(event(kind, rest)) == update, "\(kind)\(rest)")
        }
    }

    @Test func `events about a conversation`() throws {
        let position = MarkRecord.Position(message: "m1", sent: sent, at: changed)
        #expect(
            try update(event("read", ""))
                == .mark(MarkRecord(user: "alice", read: position), conversation: "lunch"))
        #expect(
            try update(event("delivered", ""))
                == .mark(MarkRecord(user: "alice", delivered: position), conversation: "lunch"))
        #expect(
            try update(event("archive", ""))
                == .archived(Register(.yes, at: changed), conversation: "lunch"))
        #expect(
            try update(event("hide", ""))
                == .cleared(changed, through: nil, hasLeft: false, conversation: "lunch"))
        #expect(
            try update(event("member", #","user":"bob","change":"left""#))
                == .cleared(changed, through: changed, hasLeft: true, conversation: "lunch"))
        #expect(
            try update(event("member", #","user":"carol","change":"left""#))
                == .membership(conversation: "lunch"))
    }

    @Test(arguments: ["typing", "level", "heartbeat", "of a later version"])
    func `other events tell nothing`(_ kind: String) throws {
        #expect(
            try update(#"{"kind":"\#(kind)","conversation":"lunch","by":"alice","on":true}"#) == nil
        )
    }

    @Test func `an event that lacks its members tells nothing`() throws {
        for kind in ["message", "edit", "pin", "read", "hide", "action", "profile"] {
            #expect(try update(#"{"kind":"\#(kind)","conversation":"lunch"}"#) == nil)
        }
    }

    @Test func `an action item and a profile`() throws {
        let item = try update(
            #"{"kind":"action","id":"i1","title":"bread","titleChanged":"\#(changed)","done":true,"#
                + #""doneChanged":"\#(sent)","priorityChanged":"\#(changed)"}"#)
        var record = ItemRecord(id: "i1")
        record.title = Register("bread", at: changed)
        record.done = Register(.yes, at: sent)
        record.priority = Register(Maybe(), at: changed)
        #expect(item == .item(record))
        record.delete()
        #expect(try update(#"{"kind":"action","id":"i1","deleted":true}"#) == .item(record))
        var profile = ProfileRecord(user: "alice")
        profile.name = Register(Maybe("Al"), at: changed)
        #expect(
            try update(
                #"{"kind":"profile","user":"alice","name":"Al","nameChanged":"\#(changed)"}"#)
                == .profile(profile))
    }

    @Test func `a row and a message of answers`() throws {
        let json = """
            {"id":"lunch","unread":2,"archived":true,"participants":["alice","bob"],
             "createdBy":"alice","createdAt":"\(sent)","last":"m1","lastFrom":"alice",
             "lastAt":"\(changed)","lastText":"hi","archivedAt":"\(changed)"}
            """
        let row = try JSONDecoder().decode(Fields.self, from: Data(json.utf8)).row
        #expect(row?.participants == ["alice", "bob"])
        #expect(row?.unread == 2)
        #expect(row?.lastSent == changed)
        let told = """
            {"id":"m1","seq":"01","from":"alice","at":"\(sent)","type":"text","text":"hi",
             "unpinnedAt":"\(changed)","restoredAt":"\(changed)"}
            """
        let record = try JSONDecoder().decode(Fields.self, from: Data(told.utf8)).messageRecord
        #expect(record?.pin == Register(Maybe(), at: changed))
        #expect(record?.hidden == Register(.no, at: changed))
    }
}

extension MessageRecord {
    mutating func set(content: Content, text: Register<String>) {
        self.content = content
        self.text = text
    }
}
