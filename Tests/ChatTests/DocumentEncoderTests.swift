import TestKit
import Testing
import Wire

@testable import CRDT
@testable import Chat

struct DocumentEncoderTests {
    @Test func `bytes and digest are the document's own, whatever was encoded before`() {
        var encoder = DocumentEncoder()
        var author = Author(1)
        for length in [1, 9_000, 1, 120, 130, 16_384, 0, 5_000, 4_000, 1] {
            let text = String(repeating: "x", count: length)
            let sent = author.apply(.send(text), by: People.alice, to: nil)
            let edited = author.apply(.edit("\(text)!", operation: 1), by: People.alice, to: sent)
            for document in [sent, edited, sent] {
                let (bytes, digest) = encoder.encode(document)
                #expect(bytes == document.encoded)
                #expect(digest == Document.digest(of: document.key, bytes: bytes))
            }
        }
    }
}
