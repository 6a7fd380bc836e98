import Foundation
import TestKit
import Testing

@testable import GrapevineClient

/// The values that an app shows, and the JSON that apps with a hosted database have stored.
@Suite struct ModelTests {
    private func decoded<Value: Decodable>(_ type: Value.Type, _ json: String) throws -> Value {
        let decoder = JSONDecoder()
        decoder.userInfo[.grapevineUser] = "u1"
        return try decoder.decode(type, from: Data(json.utf8))
    }

    private func isOver<Value: Identifiable & Codable & Hashable & Sendable>(_: Value) -> Bool {
        true
    }

    @Test func `a message is made with the first document's arguments`() {
        let message = Message(
            id: "test", conversationId: "c1", senderId: "u1", text: "Hi", createdAt: Date(),
            status: "sent")
        #expect(!message.isDeleted(for: "u1"))
        #expect(!message.isDeletedForEveryone)
        #expect(!message.isPinned && message.pinnedBy == nil && message.pinnedAt == nil)
        #expect(!message.wasEdited && message.isSynced && message.status == .sent)
        #expect(isOver(message))
        #expect(isOver(Conversation(participantIds: [])))
        #expect(isOver(ActionItem(id: "i", title: "t")))
        #expect(isOver(UserProfile(id: "u")))
    }

    @Test func `who has deleted a message is among those who have`() {
        var message = Message(id: "m", conversationId: "c", senderId: "u1", text: "Hi")
        message.deletedBy = ["u2"]
        #expect(message.isDeleted(for: "u2") && !message.isDeleted(for: "u1"))
    }

    @Test func `a message without the newer keys has their defaults`() throws {
        let message = try decoded(
            Message.self,
            #"{"id":"m","conversationId":"c","senderId":"u1","senderName":"Al","text":"Hi","#
                + #""createdAt":"2025-10-22T09:00:00Z","status":"sent"}"#)
        #expect(message.deletedBy == nil && message.editedAt == nil && !message.isPinned)
        #expect(message.createdAt == Date(timeIntervalSince1970: 1_761_123_600))
        #expect(message.senderName == "Al")
    }

    @Test func `the keys of all documents are read`() throws {
        let second = try decoded(
            Message.self,
            #"{"id":"m","conversationId":"c","senderId":"u1","senderName":"Al","content":"Hi","#
                + #""type":"image","timestamp":{"seconds":1761123600,"nanoseconds":500000000},"#
                + #""isRead":true,"isDelivered":true,"isPinned":true,"pinnedBy":"u2"}"#)
        #expect(second.text == "Hi" && second.type == .image && second.isRead)
        #expect(second.createdAt == Date(timeIntervalSince1970: 1_761_123_600.5))
        #expect(second.isPinned && second.pinnedBy == "u2")
        let third = try decoded(
            Message.self,
            #"{"id":"m","senderId":"u1","text":"x","deletedFor":["u2"],"deletedForEveryone":true}"#)
        #expect(third.isDeleted(for: "u2") && third.isDeletedForEveryone)
        let fourth = try decoded(
            Message.self,
            #"{"id":"m","senderId":"u1","senderName":"Al","text":"x","timestamp":0,"type":"text","#
                + #""read":true,"actionItemId":"i1"}"#)
        #expect(fourth.isRead && fourth.actionItemId == "i1")
        #expect(throws: DecodingError.self) { try decoded(Message.self, #"{"text":"x"}"#) }
        #expect(throws: DecodingError.self) {
            try decoded(Message.self, #"{"id":"m","senderId":"u1","createdAt":"noon"}"#)
        }
    }

    @Test func `all shapes of a conversation are read`() throws {
        let first = try decoded(
            Conversation.self,
            #"{"id":"c","participantIds":["u1","u2"],"updatedAt":"2025-10-22T09:00:01Z","#
                + #""lastMessage":{"text":"Hi","senderId":"u2","#
                + #""timestamp":"2025-10-22T09:00:00Z"}}"#
        )
        #expect(first.lastMessage.text == "Hi" && first.lastMessage.senderId == "u2")
        #expect(first.updatedAt == Date(timeIntervalSince1970: 1_761_123_601))
        let second = try decoded(
            Conversation.self,
            #"{"id":"c","participants":["u1","u2"],"participantNames":{"u1":"Al"},"#
                + #""lastMessage":"Hi","lastMessageSenderId":"u2","#
                + #""lastMessageTime":"2025-10-22T09:00:00Z","unreadCount":{"u1":3,"u2":9},"#
                + #""archivedBy":["u1"]}"#)
        #expect(second.participantIds == ["u1", "u2"] && second.participantNames["u1"] == "Al")
        #expect(second.lastMessage.text == "Hi" && second.lastMessage.senderId == "u2")
        #expect(second.unreadCount == 3 && !second.isArchived)
        #expect(second.isArchivedByUser("u1") && !second.isArchivedByUser("u2"))
        let third = try decoded(
            Conversation.self,
            #"{"title":"Lunch","lastMessage":"Hi","timestamp":"2025-10-22T09:00:00Z","#
                + #""unreadCount":2,"participants":["u1"]}"#)
        #expect(third.title == "Lunch" && third.unreadCount == 2)
        #expect(third.updatedAt == Date(timeIntervalSince1970: 1_761_123_600))
    }

    @Test func `items and profiles are read with the keys of apps and of nodes`() throws {
        let item = try decoded(
            ActionItem.self,
            #"{"id":"i","title":"t","due":"2026-11-30T00:00:00.000Z","done":true,"#
                + #""priority":"high"}"#
        )
        #expect(item.isCompleted && item.priority == .high && item.dueDate != nil)
        let profile = try decoded(
            UserProfile.self, #"{"user":"u1","name":"Al","photo":"p","createdAt":0}"#)
        #expect(profile.id == "u1" && profile.displayName == "Al" && profile.photoURL == "p")
    }

    @Test func `what is written is read again`() throws {
        var message = Message(id: "m", conversationId: "c", senderId: "u1", text: "Hi")
        message.createdAt = Date(timeIntervalSince1970: 1_761_123_600)
        message.deletedBy = ["u2"]
        message.editHistory = ["Ho"]
        let conversation = Conversation(
            id: "c", title: "Lunch", participantIds: ["u1"],
            lastMessage: LastMessage(text: "Hi", senderId: "u1", timestamp: message.createdAt),
            unreadCount: 3, archivedBy: ["u1"], createdAt: message.createdAt,
            updatedAt: message.createdAt)
        for strategy in [JSONEncoder.DateEncodingStrategy.deferredToDate, .iso8601] {
            let encoder = JSONEncoder()
            encoder.dateEncodingStrategy = strategy
            let decoder = JSONDecoder()
            #expect(try decoder.decode(Message.self, from: encoder.encode(message)) == message)
            let read = try decoder.decode(Conversation.self, from: encoder.encode(conversation))
            #expect(read == conversation)
        }
    }

    @Test func `an edit is possible until exactly the end of the window`() {
        let sent = Date(timeIntervalSince1970: 1_000)
        var message = Message(
            id: "m", conversationId: "c", senderId: "u1", text: "Hi", createdAt: sent)
        #expect(message.canEdit(by: "u1", now: sent.addingTimeInterval(15 * 60 - 0.001)))
        #expect(!message.canEdit(by: "u1", now: sent.addingTimeInterval(15 * 60)))
        #expect(!message.canEdit(by: "u2", now: sent))
        message.editableUntil = sent.addingTimeInterval(60)
        #expect(!message.canEdit(by: "u1", now: sent.addingTimeInterval(60)))
        message.editableUntil = nil
        message.isDeletedForEveryone = true
        #expect(!message.canEdit(by: "u1", now: sent))
    }

    @Test func `an error says its sentence`() {
        #expect(GrapevineError.unauthorized.code == 401)
        #expect(GrapevineError.unauthorized.localizedDescription == "User not authenticated")
        #expect(GrapevineError.messageNotFound.isFinal && !GrapevineError.noAnswer.isFinal)
    }
}

@Suite struct ListDifferenceTests {
    private struct Row: Identifiable, Equatable {
        let id: Int
        var text = ""
    }

    @Test(arguments: 0..<200) func `a list that is changed by it is the other`(_ seed: UInt64) {
        var random = SplitMix64(seed: seed)
        let old = Array(0..<12).shuffled(using: &random).prefix(8).map { Row(id: $0) }
        var new = Array(0..<12).shuffled(using: &random).prefix(Int(seed % 9)).map { Row(id: $0) }
        for index in new.indices where Bool.random(using: &random) { new[index].text = "new" }
        let difference = ListDifference(from: old, to: Array(new))
        var list = old
        for index in difference.removed { list.remove(at: index) }
        // What has changed or moved is taken from the other list, as a list view does.
        let changed = Set(difference.changed.map { new[$0].id })
        list.removeAll { changed.contains($0.id) }
        for index in (difference.inserted + difference.changed).sorted() {
            list.insert(new[index], at: index)
        }
        #expect(list == Array(new))
        #expect(difference.isEmpty == (old == Array(new)))
    }
}
