import NetworkIO
import Testing

@Suite struct SocketAddressTests {
    @Test(arguments: ["127.0.0.1:7101", "10.1.2.3:0", "[::1]:7101", "[2001:db8::7]:65535"])
    func `an address reads back as it is written`(text: String) throws {
        #expect(try #require(SocketAddress(text)).description == text)
    }

    @Test(arguments: [
        "", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:+1", "127.0.0.1: 1", "127.1:1",
        "::1:7101", "[::1]", "[::1:7101", "[127.0.0.1]:1", "[]:1", "[:1", "example.org:80", ":80",
    ])
    func `what is no address is refused`(text: String) {
        #expect(SocketAddress(text) == nil)
    }

    @Test func `localhost means the loopback of IPv4`() {
        #expect(SocketAddress("localhost:7101") == SocketAddress("127.0.0.1:7101"))
        #expect(SocketAddress("localhost:7101")?.port == 7101)
    }

    @Test(arguments: [
        ("127.0.0.1:1", true), ("127.9.9.9:1", true), ("128.0.0.1:1", false), ("[::1]:1", true),
        ("[::2]:1", false), ("[::ffff:127.0.0.1]:1", true), ("[::ffff:10.0.0.1]:1", false),
        ("0.0.0.0:1", false), ("[::]:1", false),
    ])
    func `loopback is what only this machine reaches`(text: String, isLoopback: Bool) {
        #expect(SocketAddress(text)?.isLoopback == isLoopback)
    }

    @Test func `an error says what happened to whom`() {
        let error = NetworkError.other(code: -13, doing: "binding 10.0.0.1:80")
        #expect(error.description == "binding 10.0.0.1:80: permission denied")
    }
}
