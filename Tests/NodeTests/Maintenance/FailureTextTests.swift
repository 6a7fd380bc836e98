import Chat
import StorePort
import Testing
import Wire

@testable import Node

@Suite struct FailureTextTests {
    /// Whether a line of the log may contain the text: words, and no value as the compiler prints
    /// it.
    private func isSentence(_ text: String) -> Bool {
        !text.isEmpty && !["(", ":", "Optional", "\n"].contains { text.contains($0) }
    }

    @Test func `a log line says what is wrong in words`() {
        let wire: [WireError] = [
            .truncated, .tooLong(count: 3, limit: 2), .invalid("a time"), .leftover(3), .checksum,
            .version(9),
        ]
        let key = DocumentKey.conversation(ConversationID(checked: "c"))
        let stores: [StoreFailure] = [
            .full, .badRecord(key), .badIndex, .locked, .failed("no answer"),
        ]
        let shards: [ShardFailure] = [
            .refused(.notParticipant), .notReady, .unreachable, .unanswered, .behind, .overloaded,
            .clock(-700), .store(.full),
        ]
        let backups: [BackupFailure] = [
            .exists, .noFolder, .forbidden, .full, .failed("no answer"),
        ]
        let all =
            wire.map { "\($0)" } + stores.map { "\($0)" } + shards.map { "\($0)" }
            + backups.map { "\($0)" }
        #expect(all.filter { !isSentence($0) } == [])
    }
}
