import HTTPClient
import NetworkIO
import Testing

@Suite struct HTTPClientTests {
    private let created = "HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n"

    @Test(arguments: [200, 201, 302, 404, 410, 429, 500])
    func `a request has the status of its answer, whatever that is`(_ status: Int) throws {
        let exchange = try Exchange(
            .text(
                """
                HTTP/1.1 \(status) -\r\nLocation: /elsewhere\r\nContent-Length: 4\r\n\r\nbody
                """))
        #expect(exchange.run(exchange.request()) == [.success(status)])
        // A redirect is not followed.
        #expect(exchange.served.flatMap(\.requests).count == 1)
    }

    @Test func `the server reads the headers and the body`() throws {
        let exchange = try Exchange(.text(created))
        let headers = [("TTL", "60"), ("Content-Encoding", "aes128gcm"), ("Topic", "")]
        #expect(exchange.run(exchange.request(headers: headers)) == [.success(201)])
        let request = try #require(exchange.served.first?.requests.first)
        let lines = request.split(separator: "\r\n", omittingEmptySubsequences: false)
        #expect(lines.first == "POST /push HTTP/1.1")
        #expect(lines.last == "hello")
        #expect(
            lines.dropFirst().dropLast(2).sorted() == [
                "Accept: */*", "Content-Encoding: aes128gcm", "Content-Length: 5",
                "Host: \(exchange.address)", "TTL: 60", "Topic:",
            ])
    }

    @Test func `an empty body is sent as one`() throws {
        let exchange = try Exchange(.text(created))
        #expect(exchange.run(exchange.request(body: "")) == [.success(201)])
        #expect(exchange.served.first?.requests.first?.hasSuffix("\r\n\r\n") == true)
    }

    @Test func `later requests share the connection of the first`() throws {
        let exchange = try Exchange(.text(created))
        exchange.onOutcome = { _ in
            if exchange.outcomes.count < 5 { exchange.post(exchange.request()) }
        }
        #expect(exchange.run(exchange.request()).count == 5)
        #expect(exchange.served.map(\.requests.count) == [5])
    }

    @Test func `a port at which nobody listens is unreachable`() throws {
        let exchange = try Exchange(nil)
        #expect(exchange.run(exchange.request()) == [.failure(.unreachable)])
    }

    @Test func `a name with several addresses is tried at all of them`() throws {
        // It stands for ::1 as well, where nobody listens.
        let exchange = try Exchange(.text(created))
        let url = "http://localhost:\(exchange.address.port)/"
        #expect(exchange.run(exchange.request(url)) == [.success(201)])
    }

    @Test func `a name that has no address is unresolved`() throws {
        let exchange = try Exchange(nil)
        // Longer than any name (RFC 1035, section 2.3.4): no name server is asked.
        let name = String(repeating: "a", count: 64)
        #expect(exchange.run(exchange.request("http://\(name).test/")) == [.failure(.unresolved)])
    }

    @Test func `a server that does not answer is left after the time allowed`() throws {
        let exchange = try Exchange(.silence)
        let start = exchange.loop.nanoseconds
        let outcomes = exchange.run(exchange.request(timeoutMilliseconds: 100))
        #expect(outcomes == [.failure(.timedOut)])
        #expect(exchange.loop.nanoseconds - start >= 99_000_000)
    }

    @Test func `a server that hangs up has reset the connection`() throws {
        let exchange = try Exchange(.hangUp)
        #expect(exchange.run(exchange.request()) == [.failure(.reset)])
    }

    @Test func `a status counts though the rest of the answer does not come`() throws {
        let exchange = try Exchange(.text("HTTP/1.1 201 Created\r\nContent-Length: 10\r\n\r\n"))
        let outcomes = exchange.run(exchange.request(timeoutMilliseconds: 100))
        #expect(outcomes == [.success(201)])
    }

    @Test(arguments: [
        ("HTTP/1.1 200 OK\r\n\r\n", "hello", Exchange.Outcome.success(200)),
        ("HTTP/1.1 200 OK\r\n", "Name: value\r\n", .success(200)),
        ("HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 100 Continue\r\n\r\n", .failure(.tooLong)),
    ])
    func `an answer without end is cut off`(
        first: String, then: String, outcome: Exchange.Outcome
    ) throws {
        let repeated = String(repeating: then, count: 100)
        let exchange = try Exchange(.endless(first: first, then: repeated))
        let start = exchange.loop.nanoseconds
        #expect(exchange.run(exchange.request()) == [outcome])
        // Not after the time allowed, which is 20 s.
        #expect(exchange.loop.nanoseconds - start < 15_000_000_000)
    }

    @Test func `of too many at once the last is refused`() throws {
        let exchange = try Exchange(.silence)
        for _ in 0..<HTTPClient.requestsMax {
            #expect(exchange.post(exchange.request(timeoutMilliseconds: 300)))
        }
        #expect(!exchange.post(exchange.request()))
        var isTakenAgain = false
        exchange.onOutcome = { _ in
            guard !isTakenAgain else { return }
            isTakenAgain = exchange.post(exchange.request(timeoutMilliseconds: 100))
        }
        let outcomes = exchange.run()
        #expect(outcomes.count == HTTPClient.requestsMax + 1)
        #expect(outcomes.allSatisfy { $0 == .failure(.timedOut) })
        #expect(isTakenAgain)
    }

    @Test(arguments: [
        "", "/push", "127.0.0.1", "example.test/push", "ftp://127.0.0.1/", "file:///etc/passwd",
        "gopher://127.0.0.1/", "http", "https:", "http:1", "http:/127.0.0.1", "http://",
        "https:///", "http://user:word@127.0.0.1/", "http://user@127.0.0.1/",
        "http://127.0.0.1:99999/", "http://127.0.0.1/\r\nEvil: 1", "http://127.0.0.1/\0",
        "http://127.0.0.1/a b", "http://[::1/", "http://exämple.test/",
    ])
    func `an address that is none is malformed`(_ url: String) throws {
        let exchange = try Exchange(.text(created))
        #expect(exchange.run(exchange.request(url)) == [.failure(.malformed)])
    }

    @Test(arguments: [
        ("TTL", "1\r\nEvil: 1"), ("TTL", "1\n"), ("TTL", "1\0"), ("", "1"), ("TTL:", "1"),
        ("T TL", "1"), ("TTL\r\nEvil", "1"),
    ])
    func `a header that is none is malformed`(name: String, value: String) throws {
        let exchange = try Exchange(.text(created))
        let request = exchange.request(headers: [(name, value)])
        #expect(exchange.run(request) == [.failure(.malformed)])
        #expect(exchange.served.isEmpty)
    }
}

@Suite struct PrivateAddressTests {
    @Test(arguments: [
        "127.0.0.1", "localhost", "2130706433", "0x7f.1", "0.0.0.0", "[::1]", "[::]",
        "[::ffff:127.0.0.1]", "10.0.0.1", "192.168.1.1", "169.254.169.254", "[fe80::1]",
        "[fc00::1]", "[64:ff9b::7f00:1]",
    ])
    func `an address of this network is refused without a connection`(_ host: String) throws {
        let exchange = try Exchange(
            .text("HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n"), mayReachPrivate: false)
        let url = "http://\(host):\(exchange.address.port)/"
        #expect(exchange.run(exchange.request(url)) == [.failure(.privateAddress)])
        #expect(exchange.served.isEmpty)
    }
}

@Suite struct ClosingTests {
    @Test func `nobody is told of anything after the close`() throws {
        let exchange = try Exchange(.silence)
        for _ in 0..<3 { exchange.post(exchange.request(timeoutMilliseconds: 1_000)) }
        exchange.post(exchange.request("no address"))
        exchange.after(milliseconds: 50) {
            #expect(exchange.served.count == 3)
            exchange.client.close()
            exchange.client.close()
            #expect(!exchange.post(exchange.request()))
        }
        exchange.after(milliseconds: 1_200) { exchange.finish() }
        #expect(exchange.run() == [.failure(.malformed)])
        #expect(exchange.served.allSatisfy { $0.requests.count == 1 && $0.isClosed })
    }

    @Test(arguments: ["no address", nil])
    func `a close from within a callback drops the others`(_ url: String?) throws {
        let exchange = try Exchange(nil)
        exchange.onOutcome = { _ in
            exchange.client.close()
            exchange.after(milliseconds: 100) { exchange.finish() }
        }
        for _ in 0..<5 { exchange.post(exchange.request(url)) }
        #expect(exchange.run().count == 1)
    }

    @Test func `a client that was never used is closed as well`() throws {
        let exchange = try Exchange(nil)
        #expect(exchange.run().isEmpty)
    }
}
