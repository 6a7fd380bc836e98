import TestKit
import Testing
import Wire

@testable import Chat

struct DocumentKeyTests {
    private static let keys = [
        DocumentKey.conversation(People.conversation),
        .message(MessageID(checked: "m1"), in: People.conversation),
        .message(MessageID(checked: "m2"), in: People.conversation),
        DocumentKey(checked: DocumentKey.Kind(number: 200), partition: "c1", id: "x"),
        .conversation(ConversationID(checked: "c2")),
    ]

    @Test func `a key comes back, and every truncation of it is refused`() throws {
        for key in DocumentKeyTests.keys {
            let bytes = key.encoded
            #expect(try DocumentKey.decode(bytes) == key)
            for count in 0..<bytes.count {
                #expect(throws: WireError.self) { try DocumentKey.decode(bytes[..<count]) }
            }
        }
    }

    @Test func `keys are ordered by partition, kind and id`() {
        #expect(DocumentKeyTests.keys.reversed().sorted() == DocumentKeyTests.keys)
    }

    @Test func `all that belongs to a conversation is in its shard`() {
        let shards = Set(DocumentKeyTests.keys.prefix(4).map { $0.shard(of: 64) })
        #expect(shards == [ShardID(of: "c1", count: 64)])
    }

    @Test func `a key whose parts are not names is refused`() {
        for (partition, id) in [("", ""), ("a b", ""), ("c1", "\u{E9}")] {
            let key = DocumentKey(checked: .message, partition: partition, id: id)
            #expect(throws: WireError.self) { try DocumentKey.decode(key.encoded) }
        }
        let long = String(repeating: "a", count: 65)
        let key = DocumentKey(checked: .message, partition: "c1", id: long)
        #expect(throws: WireError.self) { try DocumentKey.decode(key.encoded) }
    }

    @Test func `the bytes are those of earlier builds`() throws {
        #expect(try GoldenBytes("document-key", of: Self.keys.map(\.encoded)).difference() == nil)
    }
}
