import Testing

@testable import Gateway

@Suite struct WebOriginTests {
    @Test(arguments: [
        "http://127.0.0.1:7301", "https://chat.example.org", "https://chat-2.example.org:8443",
        "http://[::1]:7301", "http://localhost",
    ])
    func `an origin is kept as it is spelt`(_ text: String) {
        #expect(WebOrigin(text)?.description == text)
    }

    @Test(arguments: [
        "", "http://", "chat.example.org", "ftp://a", "http://a/", "http://a/b", "http://a?b",
        "http://A", "http://a:80", "https://a:443", "http://a:", "http://a:0", "http://a:07",
        "http://a:65536", "http://u@a", "http://a b", "http://a;script-src", "http://a,b",
        "http://'a'", "http://*", "http://a\r\nB: c", "http://[::1", "http://[]", "http://[x]",
        "http://.a", "http://é",
    ])
    func `what is none, or is spelt otherwise by browsers, is refused`(_ text: String) {
        #expect(WebOrigin(text) == nil)
    }

    @Test func `WebSockets have the same place`() {
        #expect(WebOrigin("http://a:1")?.ofSockets == "ws://a:1")
        #expect(WebOrigin("https://a")?.ofSockets == "wss://a")
    }
}
