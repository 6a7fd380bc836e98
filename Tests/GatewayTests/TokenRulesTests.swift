import JSON
import LineProtocol
import Testing
import Wire

@testable import Gateway

/// RFC 7519, section 4.1.
@Suite struct TokenRulesTests {
    private static let now: Int64 = 1_800_000_000_000
    private static let end = now + 3_600_000

    private func isTaken(
        _ claims: String, under rules: TokenRules, until end: Int64 = end
    ) throws -> Bool {
        let claims = try JSONValue(reading: Array(claims.utf8))
        do throws(LineError) {
            try rules.check(claims, expiresAt: end, now: Self.now)
            return true
        } catch {
            #expect(error.code == 401)
            return false
        }
    }

    @Test(arguments: [
        ("{}", true, false),
        (#"{"aud":"chat.example"}"#, false, true),
        (#"{"aud":["other.example","chat.example"]}"#, false, true),
        (#"{"aud":"billing.example"}"#, false, false),
        (#"{"aud":["Chat.example"]}"#, false, false),
        (#"{"aud":[]}"#, false, false),
        (#"{"aud":7}"#, false, false),
    ])
    func aTokenForOthersIsRefused(
        _ claims: String, withoutAudience: Bool, withAudience: Bool
    ) throws {
        var rules = TokenRules()
        #expect(try isTaken(claims, under: rules) == withoutAudience)
        rules.audience = "chat.example"
        #expect(try isTaken(claims, under: rules) == withAudience)
    }

    @Test func aTokenOfAnotherIssuerIsRefused() throws {
        var rules = TokenRules()
        #expect(try isTaken(#"{"iss":"https://b.example"}"#, under: rules))
        rules.issuer = "https://a.example"
        #expect(try isTaken(#"{"iss":"https://a.example"}"#, under: rules))
        let wrong = [#"{"iss":"https://b.example"}"#, "{}", #"{"iss":["https://a.example","b"]}"#]
        for claims in wrong { #expect(try !isTaken(claims, under: rules)) }
    }

    @Test func aTokenEndsWithinTheHoursThatAreAllowed() throws {
        var rules = TokenRules()
        let day = Self.now + 24 * 3_600_000
        #expect(try isTaken("{}", under: rules, until: day))
        #expect(try !isTaken("{}", under: rules, until: day + 1))
        rules.hours = 48
        #expect(try isTaken("{}", under: rules, until: day + 1))
    }

    @Test func eachSubjectHasANameOfItsOwn() throws {
        let long = String(repeating: "x", count: 500)
        let subjects = [
            "alice", "auth0|5f7c8ec7", "auth0|5f7c8ec8", "sub:YXV0aDB8NWY3YzhlYzc", "a b", "ü", ".",
            long, long + "x", "sub:", "google-oauth2|10",
        ]
        let names = try subjects.map { try #require(UserID(subject: $0)) }
        #expect(Set(names).count == subjects.count)
        #expect(names[0].text == "alice")
        #expect(names.allSatisfy { UserID($0.text) != nil })
        #expect(UserID(subject: "") == nil)
    }
}
