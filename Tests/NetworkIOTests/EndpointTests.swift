import Testing

@testable import NetworkIO

@Suite struct EndpointTests {
    @Test(arguments: [
        "127.0.0.1:7101", "[::1]:7101", "n1:7101", "grapevine-0.grapevine:7101",
        "a.b-c.example:65535", "3com:1",
    ])
    func `an address and a name read back as they are`(_ text: String) throws {
        let endpoint = try #require(Endpoint(text))
        #expect(endpoint.description == text)
    }

    @Test(arguments: [
        "", ":", "n1", "n1:", ":7101", "n1:0", "127.0.0.1:0", "n1:65536", "n1:+1", "n1:x",
        "n1.:7101", ".n1:7101", "a..b:7101", "-a:7101", "a-:7101", "a b:7101", "a_b:7101",
        "127.0.0.1.5:7101", "10.0.0.300:7101", "300:7101", "[::1:7101", "é:7101",
    ])
    func `what nobody could dial is none`(_ text: String) {
        #expect(Endpoint(text) == nil)
    }

    @Test func `a name is as long as a member's address may be`() {
        let longest = String(repeating: "a", count: Endpoint.nameBytesMax)
        #expect(Endpoint(longest + ":65535") != nil)
        #expect(Endpoint(longest + "a:65535") == nil)
    }

    @Test func `an address that stands for all of a machine is told`() {
        #expect(SocketAddress("0.0.0.0:1")?.isUnspecified == true)
        #expect(SocketAddress("[::]:1")?.isUnspecified == true)
        #expect(SocketAddress("127.0.0.1:1")?.isUnspecified == false)
        #expect(SocketAddress("[::1]:1")?.isUnspecified == false)
    }
}
