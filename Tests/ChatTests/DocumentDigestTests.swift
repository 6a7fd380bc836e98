import TestKit
import Testing
import Wire

@testable import CRDT
@testable import Chat

struct DocumentDigestTests {
    @Test func `bytes and digest made at once are those that are made one by one`() {
        var author = Author(1)
        for length in [1, 9_000, 120, 130, 16_384, 0, 5_000] {
            let text = String(repeating: "x", count: length)
            let sent = author.apply(.send(text), by: People.alice, to: nil)
            let edited = author.apply(.edit("\(text)!"), by: People.alice, to: sent)
            for document in [sent, edited] {
                let (bytes, digest) = document.encodedWithDigest
                #expect(bytes == document.encoded)
                #expect(digest == Document.digest(of: document.key, bytes: bytes))
            }
        }
    }
}
