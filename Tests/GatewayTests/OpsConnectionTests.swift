import LineProtocol
import Testing

@testable import Gateway

@Suite struct OpsConnectionTests {
    @Test func `a probe and a collector are answered on one connection`() {
        let client = Client()
        client.send("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(client.status == 200 && client.body == "ok\n")
        client.send("GET /readyz HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(client.status == 200 && client.body == "ready\n")
        client.send("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(client.body == "figures\n" && !client.output.isFinished)
        #expect(client.text.contains("Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"))
        #expect(client.text.contains("Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n"))
    }

    @Test func `a node that should get no requests says why`() {
        let client = Client(FakeReports(reason: LineError(503, "No cluster yet")))
        client.send("GET /readyz HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(client.status == 503 && client.body == "No cluster yet\n")
    }

    @Test func `HEAD has the head of GET and no body`() {
        let client = Client()
        client.send("HEAD /metrics HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(client.text.contains("Content-Length: 8\r\n") && client.body.isEmpty)
    }

    @Test func `the view of the cluster is a page, which the pages of other nodes may read`() throws
    {
        let client = Client(nodes: [try #require(WebOrigin("http://127.0.0.1:7402"))])
        client.send("GET /cluster HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(client.status == 200 && client.body.hasPrefix("<!"))
        #expect(client.text.contains("Content-Security-Policy: default-src 'none'; script-src"))
        #expect(client.text.contains("Cache-Control: no-cache\r\n"))
        client.send("POST /cluster HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(client.status == 405)
        let request = "GET /cluster.json HTTP/1.1\r\nHost: a\r\nOrigin: "
        client.send(request + "http://127.0.0.1:7402\r\n\r\n")
        #expect(client.status == 200 && client.body == "{}")
        #expect(client.text.contains("Access-Control-Allow-Origin: http://127.0.0.1:7402\r\n"))
        client.send(request + "http://evil.example\r\n\r\n")
        #expect(!client.text.contains("Access-Control-Allow-Origin"))
    }

    @Test func `other paths, methods and bodies are refused`() {
        let client = Client()
        client.send("GET /v1/chats HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(client.status == 404)
        client.send("DELETE /metrics HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(client.status == 405 && client.text.contains("Allow: GET, HEAD\r\n"))
        #expect(!client.output.isFinished)
        client.send("POST /metrics HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n")
        #expect(client.status == 400 && client.text.contains("Connection: close\r\n"))
        #expect(client.output.isFinished)
        client.send("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(client.text.isEmpty, "nothing is read behind the end")
    }

    @Test func `what is no request is refused with a sentence, and ends the connection`() {
        let client = Client()
        client.send("PING\r\n\r\n")
        #expect(client.status == 400 && client.output.isFinished)
        #expect(client.body.hasPrefix("{\"error\":{\"code\":400,\"message\":\""))
    }

    @Test func `requests that come at once are answered one a turn, in order`() {
        let client = Client()
        let request = "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"
        client.send(request + "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n" + request)
        #expect(client.body == "ok\n" && client.turns == 1 && client.output.isPaused)
        client.turn()
        #expect(client.body == "figures\n" && client.turns == 2)
        client.turn()
        #expect(client.body == "ok\n" && client.turns == 2 && !client.output.isPaused)
    }

    @Test func `for a client that does not read no page is made`() {
        let client = Client()
        client.output.queuedBytes = OpsConnection.queuedBytesMax
        client.send("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(client.text.isEmpty && client.output.isPaused)
        client.read()
        #expect(client.body == "figures\n" && !client.output.isPaused)
    }

    @Test func `a connection that takes too long is closed`() {
        let (silent, slow, stuck) = (Client(), Client(), Client())
        slow.send("GET /metrics HTT")
        stuck.output.queuedBytes = OpsConnection.queuedBytesMax
        stuck.send("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n")
        for client in [silent, slow, stuck] {
            client.wait(OpsConnection.requestMillisecondsMax - 1)
            #expect(!client.output.isFinished && !client.output.isAborted)
            client.wait(1)
        }
        #expect(slow.status == 408 && slow.output.isFinished)
        #expect(stuck.output.isAborted && !silent.output.isFinished)
        silent.wait(OpsConnection.idleMillisecondsMax)
        #expect(silent.output.isFinished && silent.text.isEmpty)
    }

    @Test func `the end of a client's requests ends the connection behind the last response`() {
        let client = Client()
        client.send(
            "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\nGET /metrics HTTP/1.1\r\nHost: a\r\n\r\n")
        client.end()
        #expect(!client.output.isFinished)
        client.turn()
        #expect(client.body == "figures\n" && client.output.isFinished)
    }

    @Test func `HTTP 1.0 is answered once`() {
        let client = Client()
        client.send("GET /healthz HTTP/1.0\r\n\r\n")
        #expect(client.body == "ok\n" && client.output.isFinished)
    }
}

@Suite struct HTTPDateTests {
    @Test func `a time has its weekday and month`() {
        #expect(HTTPDate.text(of: 0) == "Thu, 01 Jan 1970 00:00:00 GMT")
        #expect(HTTPDate.text(of: 784_111_777_999) == "Sun, 06 Nov 1994 08:49:37 GMT")
        #expect(HTTPDate.text(of: 1_709_164_800_000) == "Thu, 29 Feb 2024 00:00:00 GMT")
        #expect(HTTPDate.text(of: .max).hasSuffix(" Dec 9999 23:59:59 GMT"))
    }
}
