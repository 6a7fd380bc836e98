import Foundation
import Testing

@testable import GrapevineClient

/// What the log tells.
@Suite struct LogRows {
    private let chat = Stage.chat

    @Test func `accepted and refused changes, and events that were known, are logged`() throws {
        let stage = try Stage()
        try stage.send(stage.alice, "a1")
        var entries: [LogEntry] = []
        stage.alice.core?.logger = { entries.append($0) }
        try stage.alice.act(.delete(conversation: chat, message: "a1"))
        try stage.settle()
        try stage.alice.act(.restore(conversation: chat, message: "a1"))
        try stage.alice.act(.pin(conversation: chat, message: "a1"))
        try stage.settle()
        let words = entries.map { "\($0.level.rawValue) \($0.text)" }
        #expect(
            words.contains {
                $0.hasPrefix("info synced action=delete message=a1 conversation=lunch waited_ms=")
            })
        #expect(
            words.contains {
                $0.hasPrefix("error refused action=pin message=a1") && $0.contains("code=409")
            })
        #expect(words.contains("debug event kind=delete message=a1 not_new"))
        let entry = try #require(entries.first)
        #expect(entry.description.contains("Z \(entry.level.rawValue) "))
    }

    @Test func `nothing is kept where nobody reads the log`() throws {
        let stage = try Stage()
        try stage.send(stage.alice, "b1")
        #expect(stage.alice.core?.logger == nil)
    }
}
