import Testing
import Wire

@testable import HTTP

@Suite struct ResponseTests {
    private func written(_ head: ResponseHead) -> String {
        var writer = ByteWriter()
        writer.write(head, date: "Sun, 06 Nov 1994 08:49:37 GMT")
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    @Test func `a response states where its body ends`() {
        var head = ResponseHead(.ok, body: .length(3))
        head.add("Content-Type", "application/json")
        #expect(
            written(head)
                == """
                HTTP/1.1 200 OK\r
                Date: Sun, 06 Nov 1994 08:49:37 GMT\r
                Content-Type: application/json\r
                Content-Length: 3\r
                \r

                """)
        head.body = .chunked
        head.closes = true
        #expect(written(head).hasSuffix("Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"))
    }

    @Test func `a response that never has a body states no length`() {
        for status in [HTTPStatus.noContent, .notModified, .continues] {
            #expect(!written(ResponseHead(status)).contains("Content-Length"))
        }
        #expect(written(ResponseHead(.notFound)).contains("Content-Length: 0\r\n"))
    }

    @Test func `no value begins another field`() {
        var head = ResponseHead(.ok)
        head.add("X", "a\r\nSet-Cookie: b\u{0}")
        #expect(written(head).contains("X: a  Set-Cookie: b \r\n"))
    }

    @Test func `chunks are read as they were written`() {
        var writer = ByteWriter()
        for text in ["hello", "", String(repeating: "x", count: 300)] {
            Array(text.utf8).withUnsafeBytes { writer.write(chunk: $0) }
        }
        writer.writeLastChunk()
        let body = String(decoding: writer.bytes, as: UTF8.self)
        let found = read(request("Transfer-Encoding: chunked", body: body))
        #expect(found.bodies == ["hello" + String(repeating: "x", count: 300)])
        #expect(found.ends == 1 && found.error == nil)
    }

    @Test func `a range is a part of the file, or all of it`() {
        func range(_ value: String?, of size: UInt64 = 10) -> ByteRange {
            ByteRange(value, of: size)
        }
        #expect(range(nil) == .whole)
        #expect(range("bytes=0-") == .part(0..<10))
        #expect(range("bytes=2-3") == .part(2..<4))
        #expect(range("bytes=2-99") == .part(2..<10))
        #expect(range("bytes=-3") == .part(7..<10))
        #expect(range("bytes=-30") == .part(0..<10))
        #expect(range("bytes=10-") == .outside)
        #expect(range("bytes=-0") == .outside)
        #expect(range("bytes=0-", of: 0) == .outside)
        #expect(range("bytes=0-999999999999999999") == .part(0..<10))
        for value in [
            "bytes=3-2", "bytes=-", "bytes=a-", "bytes=0-1,3-4", "lines=0-1", "bytes=+1-",
        ] {
            #expect(range(value) == .whole, "\(value)")
        }
        #expect(range("bytes=0-9999999999999999999999") == .whole)
    }

    @Test func `a client that has the content is told so`() {
        let tag = EntityTag("a1")
        #expect(tag.text == "\"a1\"")
        #expect(tag.isHeld(by: ["\"b\", W/\"a1\""]) && tag.isHeld(by: ["*"]))
        #expect(tag.isHeld(by: ["\"b\"", "\"a1\""]))
        #expect(!tag.isHeld(by: ["a1", "\"a11\""]) && !tag.isHeld(by: []))
    }
}
