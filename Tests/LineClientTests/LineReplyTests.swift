import LineProtocol
import Testing

@testable import LineClient

@Suite struct LineReplyTests {
    private func replies(_ pieces: [[UInt8]]) throws -> [LineReply] {
        var cutter = ReplyCutter()
        var replies: [LineReply] = []
        for piece in pieces {
            try piece.withUnsafeBytes { bytes in try cutter.feed(bytes) { replies.append($0) } }
        }
        #expect(cutter.keptCount == 0)
        return replies
    }

    @Test func `replies are the same wherever the reads fall`() throws {
        let text = "A a=1\nOK\nERR 400 Bad\nOKS a=2\nB b=\"OK\"\nOK id=m1 at=2 replicas=1/2\n"
        let bytes = Array(text.utf8)
        let whole = try replies([bytes])
        #expect(whole.map(\.statusText) == ["OK", "ERR 400 Bad", "OK id=m1 at=2 replicas=1/2"])
        #expect(whole.map(\.dataLines.count) == [1, 0, 2])
        for cut in 1..<bytes.count {
            #expect(try replies([Array(bytes[..<cut]), Array(bytes[cut...])]) == whole)
        }
    }

    @Test func `events stand between replies, and belong to none`() throws {
        let text =
            "EVENT kind=pin id=m1\nA a=1\nOK\nEVENT kind=edit text=\"OK a\"\nOK a=2\nEVENT a=3\n"
        let bytes = Array(text.utf8)
        for cut in bytes.indices {
            var cutter = ReplyCutter()
            var events: [String] = []
            var replies: [LineReply] = []
            for piece in [bytes[..<cut], bytes[cut...]] {
                try Array(piece).withUnsafeBytes { piece in
                    try cutter.feed(
                        piece, event: { events.append(String(decoding: $0, as: UTF8.self)) },
                        { replies.append($0) })
                }
            }
            #expect(
                events == ["EVENT kind=pin id=m1", "EVENT kind=edit text=\"OK a\"", "EVENT a=3"])
            #expect(replies.map(\.statusText) == ["OK", "OK a=2"])
            #expect(replies.first?.lines.count == 2)
            #expect(cutter.keptCount == 0)
        }
    }

    @Test func `a reply without an end is not kept beyond its limit`() throws {
        var cutter = ReplyCutter()
        let piece = [UInt8](repeating: 0x41, count: 1 << 20)
        #expect(throws: ReplyCutter.TooLong.self) {
            for _ in 0...(ReplyCutter.replyBytesMax >> 20) {
                try piece.withUnsafeBytes { bytes in
                    try cutter.feed(bytes) { _ in Issue.record("that was no reply") }
                }
            }
        }
        #expect(cutter.keptCount <= ReplyCutter.replyBytesMax)
    }

    @Test func `fields of data lines and of the status are read by key`() throws {
        let text = "MESSAGE id=m1 text=\"a b\"\nEDIT text=c\nOK total=2\n"
        let reply = try #require(try replies([Array(text.utf8)]).first)
        #expect(reply.data("MESSAGE").first?["text"] == "a b")
        #expect(reply.data("EDIT").count == 1)
        #expect(reply.ok?["total"] == "2")
        #expect(reply.error == nil)
    }
}
