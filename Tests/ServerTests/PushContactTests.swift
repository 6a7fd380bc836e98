import Testing

@testable import Server

@Suite struct PushContactTests {
    @Test func `a contact that nobody can reach is said to be one`() throws {
        for text in ["mailto:ops@example.org", "mailto:a@b.example.com?s=x", "https://a.org/b"] {
            #expect(try #require(PushContact(text)).weakness == nil, "\(text)")
        }
        let unreachable: [String?] = [
            nil, "mailto:root@localhost", "mailto:ops", "mailto:@example.org", "mailto:a@box.local",
            "mailto:a@127.0.0.1", "https://localhost:8443/", "https://chat", "https://u@[::1]/",
            "mailto:a@example.", "mailto:",
        ]
        for text in unreachable {
            #expect(try #require(PushContact(text)).weakness != nil, "\(text ?? "none")")
        }
        for text in ["", "ops@example.org", "http://a.org", "mailto:a\"@b.org", "mailto:a @b.org"] {
            #expect(PushContact(text) == nil, "\(text)")
        }
    }
}
