import Foundation
import HTTP
import Node
import Testing

@testable import Gateway

@Suite struct WebPagesTests {
    private let pages = WebPages(.chat, nodes: [], executor: InlineExecutor())

    private func answer(_ target: String, _ fields: String = "") throws -> WebPage? {
        let head = try Self.head(target, fields)
        return pages.assumeIsolated { $0.answer(to: head) }
    }

    private static func head(_ target: String, _ fields: String = "") throws -> RequestHead {
        let text = "GET \(target) HTTP/1.1\r\nHost: a\r\n\(fields)\r\n"
        var reader = RequestReader()
        let event = try Array(text.utf8).withUnsafeBytes { bytes in
            var rest = bytes[...]
            return try reader.next(&rest)
        }
        guard case .head(let head) = event else { throw HTTPError(.badRequest, text) }
        return head
    }

    // MARK: Files

    @Test func `the binary carries every file of the pages, byte for byte`() throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../Sources/Web").standardized
        let paths = try FileManager.default.subpathsOfDirectory(atPath: folder.path)
            .filter { path in
                ["chat/", "client/", "cluster/"].contains(where: path.hasPrefix)
                    && path.split(separator: "/").last?.contains(".") == true
            }
        #expect(paths.contains("chat/index.html"))
        #expect(Set(WebFile.embedded.keys) == Set(paths), "files.c lists what the folders hold")
        // What is embedded of these two is made of all that they import.
        let bundled = ["chat/page.js", "chat/page.css"]
        for path in paths where !bundled.contains(path) {
            let bytes = try Data(contentsOf: folder.appending(path: path))
            // Not in the expectation: it would print them.
            let isSame = WebFile.embedded[path]?.bytes == Array(bytes)
            #expect(isSame, "\(path) was changed after the build")
        }
    }

    @Test func `every file has a type that browsers know`() {
        for (path, file) in WebFile.embedded {
            #expect(file.contentType != ContentType.unknown, "\(path)")
        }
        #expect(WebFile([], named: "a.js").contentType == "text/javascript")
        #expect(WebFile([], named: "a.webmanifest").contentType == "application/manifest+json")
    }

    // MARK: Paths

    @Test func `a page is at its place, and at no other`() throws {
        #expect(try answer("/")?.body == WebFile.embedded["chat/index.html"]?.bytes)
        #expect(try answer("/?x=1")?.status == .ok)
        for path in [
            "/chat/index.html", "/index.html", "/chat", "/chat/", "//", "/cluster", "/files.c",
            "/chat%2Findex.html", "/chat/index.html/", "/CHAT/index.html", "/nodes",
        ] {
            #expect(try answer(path) == nil, "\(path)")
        }
    }

    @Test func `the pages of operators are on their own port`() throws {
        let pages = WebPages(.cluster, nodes: [], executor: InlineExecutor())
        for (path, isThere) in [("/cluster", true), ("/", false), ("/cluster/", false)] {
            let head = try Self.head(path)
            #expect((pages.assumeIsolated { $0.answer(to: head) } != nil) == isThere, "\(path)")
        }
    }

    // MARK: Names

    private static func refusal(of host: String?, _ names: ServedNames?) throws -> HTTPStatus? {
        let pages = WebPages(.cluster, nodes: [], names: names, executor: InlineExecutor())
        let field = host.map { "Host: \($0)\r\n" } ?? ""
        let version = host == nil ? "HTTP/1.0" : "HTTP/1.1"
        var reader = RequestReader()
        let bytes = Array("GET /metrics \(version)\r\n\(field)\r\n".utf8)
        let head = try bytes.withUnsafeBytes { buffer -> RequestHead? in
            var slice = buffer[...]
            guard case .head(let head) = try reader.next(&slice) else { return nil }
            return head
        }
        return pages.refusal(of: try #require(head))?.status
    }

    @Test func `a request to the name of a page elsewhere is refused`() throws {
        let node = try #require(WebOrigin("https://ops.example.org:8443"))
        let names = ServedNames(["n1.example.org"], of: [node])
        for host in [
            "evil.example:9100", "evil.example", "127.0.0.1.evil.example", "localhost.evil.example",
            "example.org", "xn1.example.org", "1.2.3", "[evil.example]",
        ] {
            #expect(try Self.refusal(of: host, names) == .misdirectedRequest, "\(host)")
            #expect(try Self.refusal(of: host, nil) == nil)
        }
        for host in [
            "127.0.0.1:9100", "127.0.0.1", "[::1]:9100", "[2001:db8::1]", "localhost:9100",
            "LOCALHOST", "chat.localhost", "n1", "grapevine_1:9100", "n1.example.org",
            "N1.Example.org.:9100", "ops.example.org", "ops.example.org:1", nil,
        ] {
            #expect(try Self.refusal(of: host, names) == nil, "\(host ?? "none")")
        }
    }

    // MARK: Answers

    @Test func `an unchanged page is not sent again`() throws {
        let first = try #require(try answer("/"))
        #expect(first.tag.hasPrefix("W/\""))
        let again = try #require(try answer("/", "If-None-Match: \(first.tag)\r\n"))
        #expect(again.status == .notModified && again.body.isEmpty && again.tag == first.tag)
        let other = try #require(try answer("/", "If-None-Match: W/\"0\"\r\n"))
        #expect(other.status == .ok && other.body == first.body)
    }

    @Test func `a page is compressed for clients that ask for it, and only then`() throws {
        // A file long enough: it exists once the pages have one.
        let path = try #require(
            WebFile.embedded.first {
                $0.key.hasSuffix(".js") && $0.key.hasPrefix("cluster/")
                    && $0.value.bytes.count >= AppLimits.compressedBytesMin
            }?.key)
        let pages = WebPages(.cluster, nodes: [], executor: InlineExecutor())
        let plain = try Self.head("/\(path)")
        let gzip = try Self.head("/\(path)", "Accept-Encoding: br, gzip\r\n")
        let bodies = try [plain, gzip, gzip].map { head in
            try #require(pages.assumeIsolated { $0.answer(to: head) })
        }
        #expect(bodies.map(\.isCompressed) == [false, true, true])
        #expect(bodies[1].body.starts(with: [0x1F, 0x8B]) && bodies[1] == bodies[2])
        #expect(bodies[1].body.count < bodies[0].body.count / 2)
        #expect(bodies[0].tag == bodies[1].tag)
    }

    @Test func `a page and a picture have a policy, which holds for the page's modules and styles`()
        throws
    {
        let pages = WebPages(.cluster, nodes: [], executor: InlineExecutor())
        for (path, hasPolicy) in [
            ("/cluster", true), ("/cluster/icon.svg", true), ("/nodes.json", true),
            ("/cluster/main.js", false), ("/cluster/cluster.css", false),
        ] {
            let head = try Self.head(path)
            let page = try #require(pages.assumeIsolated { $0.answer(to: head) })
            #expect((page.policy != nil) == hasPolicy, "\(path)")
        }
    }

    @Test func `the other nodes are listed, and a page may send requests to them alone`() throws {
        let nodes = try ["http://127.0.0.1:7301", "https://b.example.org"].map {
            try #require(WebOrigin($0))
        }
        let pages = WebPages(.chat, nodes: nodes, executor: InlineExecutor())
        let head = try Self.head("/nodes.json")
        let list = try #require(pages.assumeIsolated { $0.answer(to: head) })
        #expect(
            String(decoding: list.body, as: UTF8.self)
                == #"{"nodes":["http://127.0.0.1:7301","https://b.example.org"]}"#)
        let policy = try #require(list.policy)
        #expect(
            policy.contains(
                "; connect-src 'self' http://127.0.0.1:7301 ws://127.0.0.1:7301 "
                    + "https://b.example.org wss://b.example.org; "))
        #expect(!policy.contains("unsafe") && !policy.contains("*"))
        #expect(nodes.allSatisfy { node in pages.assumeIsolated { $0.admits(node.description) } })
    }

    @Test func `pages follow the members, and what a browser has stored is sent anew`() throws {
        let own = try #require(WebOrigin("http://127.0.0.1:7301"))
        let pages = WebPages(.chat, nodes: [own], executor: InlineExecutor())
        func answer(_ path: String) throws -> WebPage {
            let head = try Self.head(path)
            return try #require(pages.assumeIsolated { $0.answer(to: head) })
        }
        let alone = try answer("/")
        let strange = "https://b.example.org; script-src *"
        func said(_ addresses: [String]) -> [PageAddresses] {
            addresses.map { PageAddresses(chat: $0, cluster: "http://127.0.0.1:7402") }
        }
        let members = said(["http://127.0.0.1:7302", "http://127.0.0.1:7301", "", strange])
        let left = said(["http://127.0.0.1:7303"])
        pages.assumeIsolated { $0.follow(members, admitting: members + left) }
        let list = try answer("/nodes.json")
        #expect(
            String(decoding: list.body, as: UTF8.self)
                == #"{"nodes":["http://127.0.0.1:7301","http://127.0.0.1:7302"]}"#)
        let page = try answer("/")
        #expect(page.policy?.contains("ws://127.0.0.1:7302") == true)
        #expect(page.policy?.contains("b.example.org") == false)
        #expect(page.tag != alone.tag)
        // A page that came from a node that has left goes on with the others.
        let admitted = ["http://127.0.0.1:7302", "http://127.0.0.1:7303", strange].map { origin in
            pages.assumeIsolated { $0.admits(origin) }
        }
        #expect(admitted == [true, true, false])
        pages.assumeIsolated { $0.follow([], admitting: []) }
        #expect(try answer("/") == alone)
    }
}
