import TestKit
import Testing

@testable import HTTP

@Suite struct RequestReaderTests {
    @Test func `a request has a method, a path, a query, fields and a body`() throws {
        let found = read(
            request(
                "Content-Length: 5", "X-Two:  a b\t",
                line: "PUT /v1/a%20b/c%2Fd?x=1+2&y=%C3%A4&z HTTP/1.1", body: "hello"))
        let head = try #require(found.heads.first)
        #expect(head.method == .put && head.keepsAlive && head.hasBody)
        #expect(head.target.segments == ["v1", "a b", "c/d"])
        #expect(head.target.query.map(\.name) == ["x", "y", "z"])
        #expect(head.target.query.map(\.value) == ["1 2", "ä", ""])
        #expect(try head.fields.only("x-two") == "a b")
        #expect(found.bodies == ["hello"] && found.ends == 1 && found.error == nil)
    }

    @Test func `requests follow each other on a connection, in any pieces`() {
        let text =
            request(line: "GET / HTTP/1.1")
            + request(
                "Transfer-Encoding: chunked", body: "3\r\nabc\r\n0A\r\n0123456789\r\n0\r\n\r\n")
            + request("content-LENGTH: 2", body: "ok") + request(line: "DELETE /v1/x HTTP/1.1")
        let whole = read(text)
        #expect(whole.bodies == ["", "abc0123456789", "ok", ""])
        #expect(whole.ends == 4 && whole.error == nil)
        for piece in 1...40 { #expect(read(text, piece: piece) == whole) }
    }

    @Test func `the whole form of a target is read as its path`() {
        let found = read(request(line: "GET http://other:80/v1/x?a=b HTTP/1.1"))
        #expect(found.heads.first?.target.segments == ["v1", "x"])
        #expect(read(request(line: "GET / HTTP/1.1")).heads.first?.target.segments == [])
    }

    @Test func `a connection is kept or closed as its client says`() {
        func keeps(_ request: String) -> Bool? { read(request).heads.first?.keepsAlive }
        #expect(keeps(request()) == true)
        #expect(keeps(request("Connection: Close")) == false)
        #expect(keeps(request("Connection: foo, close")) == false)
        #expect(keeps("GET / HTTP/1.0\r\n\r\n") == false)
        #expect(keeps("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n") == false)
    }

    /// An accent forms one character with the space or comma before it.
    @Test func `a field is cut at its bytes, whatever characters they form`() throws {
        let found = read(
            request("X-Two: \u{364}", "X-One:\u{301} ", "Connection: a,\u{364}, close"))
        let head = try #require(found.heads.first)
        #expect(try head.fields.only("x-two") == "\u{364}")
        #expect(try head.fields.only("x-one") == "\u{301}")
        #expect(!head.keepsAlive)
    }

    /// What two readers might read in two ways is refused: so requests are smuggled past a proxy.
    @Test(arguments: [
        request("Content-Length: 1", "Content-Length: 1", body: "a"),
        request("Content-Length: 1, 1", body: "a"), request("Content-Length: +1", body: "a"),
        request("Content-Length: 0x1", body: "a"), request("Content-Length: -1"),
        request("Content-Length:"), request("Content-Length: 1 1", body: "a"),
        request("Content-Length: 9999999999999999999"),
        request("Content-Length: 5", "Transfer-Encoding: chunked", body: "0\r\n\r\n"),
        request("Transfer-Encoding: chunked", "Transfer-Encoding: chunked", body: "0\r\n\r\n"),
        "POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        request("Content-Length : 1", body: "a"), request(" Content-Length: 1", body: "a"),
        request("X: a", "\tb"), request(": a"), request("no colon"), request("X: a\u{0}b"),
        request("X: a\rb"), request("X\u{e4}: a"), request("Host: b"), request("X: a\nY: b"),
        "GET / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\nHost: a\n\n", "\r\n" + request(),
        request(line: "GET http:///x HTTP/1.1"), request(line: "GET http:\u{f}/a/ HTTP/1.1"),
        request(line: "GET http://a\u{b}/ HTTP/1.1"),
        request(line: "GET http://u@a/ HTTP/1.1"),
        request(line: "GET  / HTTP/1.1"), request(line: "GET / HTTP/1.1 "),
        request(line: "GET /\tx HTTP/1.1"), request(line: "GET /"),
        request(line: " GET / HTTP/1.1"),
        request(line: "GET / http/1.1"), request(line: "G@T / HTTP/1.1"),
        request(line: "GET x HTTP/1.1"), request(line: "GET * HTTP/1.1"),
        request(line: "GET /a/../b HTTP/1.1"), request(line: "GET /%2e%2E/b HTTP/1.1"),
        request(line: "GET /%zz HTTP/1.1"), request(line: "GET /%4 HTTP/1.1"),
        request(line: "GET /%00 HTTP/1.1"), request(line: "GET /%ff HTTP/1.1"),
        request(line: "GET /a#b HTTP/1.1"), request(line: "GET /ä HTTP/1.1"),
        request("Transfer-Encoding: chunked", body: "1;a=b\r\nx\r\n0\r\n\r\n"),
        request("Transfer-Encoding: chunked", body: "1 \r\nx\r\n0\r\n\r\n"),
        request("Transfer-Encoding: chunked", body: "\r\nx\r\n0\r\n\r\n"),
        request("Transfer-Encoding: chunked", body: "1\nx\r\n0\r\n\r\n"),
        request("Transfer-Encoding: chunked", body: "1\r\nxy\r\n0\r\n\r\n"),
        request("Transfer-Encoding: chunked", body: "000000001\r\nx\r\n0\r\n\r\n"),
        request("Transfer-Encoding: chunked", body: "-1\r\nx\r\n0\r\n\r\n"),
        request("Transfer-Encoding: chunked", body: "0x1\r\nx\r\n0\r\n\r\n"),
        request("Transfer-Encoding: chunked", body: "1\r\nx\r\n0\r\nX: a\r\n\r\n"),
    ])
    func `what could be read in two ways is refused`(text: String) {
        for piece in [.max, 1, 5] {
            let found = read(text, piece: piece)
            #expect(found.status == 400 && found.ends == 0, "\(text.debugDescription)")
        }
    }

    @Test func `what is not supported is told apart from what is wrong`() {
        #expect(read(request(line: "GET / HTTP/2.0")).status == 505)
        // Which methods there are is decided by path.
        #expect(read(request(line: "BREW / HTTP/1.1")).status == nil)
        #expect(read(request(line: "get / HTTP/1.1")).status == nil)
        #expect(read(request(line: "B(EW / HTTP/1.1")).status == 400)
        #expect(read(request("Transfer-Encoding: gzip, chunked")).status == 501)
        #expect(read(request("Transfer-Encoding: identity")).status == 501)
        #expect(read(request("Expect: tea")).status == 417)
        #expect(read(request("Expect: 100-Continue")).heads.first?.expectsContinue == true)
    }

    @Test func `a head is bounded, also one that does not end`() {
        let long = String(repeating: "a", count: HTTPLimits.requestLineBytesMax)
        #expect(read(request(line: "GET /\(long) HTTP/1.1")).status == 414)
        let endless = String(repeating: "a", count: HTTPLimits.headBytesMax + 1)
        #expect(read("GET /" + endless, piece: 1_000).status == 414)
        #expect(read("GET / HTTP/1.1\r\nX: " + endless, piece: 1_000).status == 431)
        let fields = (0..<HTTPLimits.fieldsMax).map { "X\($0): a\r\n" }.joined()
        #expect(read("GET / HTTP/1.1\r\n\(fields)\r\n").error?.status == .badRequest, "no Host")
        #expect(read("GET / HTTP/1.1\r\nHost: a\r\n\(fields)\r\n").status == 431)
    }

    @Test func `a head of the maximum size is read, and one byte more is not, in any pieces`() {
        let start = "GET / HTTP/1.1\r\nHost: a\r\nX: "
        let rest = HTTPLimits.headBytesMax - start.utf8.count - 4
        for piece in [1, 7, 4_096, HTTPLimits.headBytesMax + 1] {
            let value = String(repeating: "a", count: rest)
            #expect(read(start + value + "\r\n\r\n", piece: piece).heads.count == 1)
            #expect(read(start + value + "a\r\n\r\n", piece: piece).status == 431)
        }
    }

    @Test func `after an error nothing more is read`() {
        let found = read("GET / HTTP/3.0\r\nHost: a\r\n\r\n" + request())
        #expect(found.status == 505 && found.heads.isEmpty)
    }

    @Test func `any bytes make the same requests in any pieces`() {
        var random = SplitMix64(seed: 11)
        let words = [
            "GET", "POST", " ", "/", "x", "%41", " HTTP/1.1", "\r\n", "\n", "Host: a", ":",
            "Content-Length: 3", "Transfer-Encoding: chunked", "abc", "3", "0", "\r\n\r\n", "?a=b",
        ]
        for _ in 0..<3_000 {
            let text = (0..<random.next() % 14).map { _ in
                words[Int(random.next() % UInt64(words.count))]
            }.joined()
            let whole = read("GET / HTTP/1.1\r\nHost: a\r\n" + text)
            for piece in [1, 3, 8] {
                #expect(read("GET / HTTP/1.1\r\nHost: a\r\n" + text, piece: piece) == whole)
            }
        }
    }

    @Test func `a WebSocket is asked for by a complete handshake`() throws {
        func key(_ lines: String...) throws -> String? {
            let text = "GET /v1/socket HTTP/1.1\r\nHost: a\r\n" + lines.map { $0 + "\r\n" }.joined()
            return try #require(read(text + "\r\n").heads.first).webSocketKey()
        }
        let (upgrade, connection) = ("Upgrade: WebSocket", "Connection: keep-alive, Upgrade")
        let secret = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="
        let version = "Sec-WebSocket-Version: 13"
        #expect(try key(upgrade, connection, secret, version) == "dGhlIHNhbXBsZSBub25jZQ==")
        #expect(try key(connection) == nil)
        #expect(throws: HTTPError.self) { try key(upgrade, secret, version) }
        #expect(throws: HTTPError.self) { try key(upgrade, connection, version) }
        #expect(throws: HTTPError.self) { try key(upgrade, connection, secret, secret, version) }
        let error = #expect(throws: HTTPError.self) {
            try key(upgrade, connection, secret, "Sec-WebSocket-Version: 8")
        }
        #expect(error?.status == .upgradeRequired)
    }
}
