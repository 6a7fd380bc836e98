import Crypto
import Gateway
import NetworkIO
import Session
import TLS
import Testing
import Wire

@testable import Server

@Suite struct ClientKeysTests {
    private let old = String(repeating: "o", count: 40)
    private let next = String(repeating: "n", count: 40)

    private func ring(_ first: String, _ second: String? = nil) throws -> KeyRing {
        KeyRing(try #require(Key(first)), try second.map { try #require(Key($0)) })
    }

    @Test func `either key of the file signs in, and nothing else`() throws {
        let signedIn = Lock<[UInt64]>([])
        let refused = Lock<[UInt64]>([])
        let authPolicy = ClientKeys(
            try ring(old, next), now: { 0 },
            onSignIn: { id in signedIn.withLock { $0.append(id) } },
            onRefusal: { id in refused.withLock { $0.append(id) } })
        #expect(authPolicy.admission(by: old, as: 1) == .asOperator)
        #expect(authPolicy.admission(by: next, as: 2) == .asOperator)
        for secret in ["", "o", old + "o", String(old.dropLast()) + "p"] {
            #expect(authPolicy.admission(by: secret, as: 3) == nil)
        }
        #expect(signedIn.withLock { $0 } == [1, 2])
        #expect(refused.withLock { $0 } == [3, 3, 3, 3])
    }

    @Test func `an access token signs in its user, until it expires`() throws {
        let secret = Array("0123456789abcdef0123456789abcdef".utf8)
        let text = #"{"kty":"oct","k":""# + Base64.encode(secret) + #""}"#
        let tokens = try KeySet(reading: Array(text.utf8))
        let now = Lock<Int64>(1_000)
        let keys = ClientKeys(
            nil, tokens: tokens, now: { now.withLock { $0 } }, onSignIn: { _ in },
            onRefusal: { _ in })
        let words = [#"{"alg":"HS256"}"#, #"{"sub":"alice","exp":2}"#]
            .map { Base64.encode(Array($0.utf8)) }.joined(separator: ".")
        let signature = Base64.encode(Digest.hmacSHA256(words.utf8, key: secret))
        let token = words + "." + signature
        #expect(keys.admission(by: token, as: 1) == .asUser(UserID(checked: "alice"), signIn: nil))
        #expect(keys.admission(by: old, as: 2) == nil && keys.admission(by: words, as: 2) == nil)
        // The token of another user changes nothing: his later end does not count.
        let others = [#"{"alg":"HS256"}"#, #"{"sub":"bob","exp":9223372036854775,"nbf":1}"#]
            .map { Base64.encode(Array($0.utf8)) }.joined(separator: ".")
        let other = others + "." + Base64.encode(Digest.hmacSHA256(others.utf8, key: secret))
        #expect(keys.admission(by: other, as: 1) == .asUser(UserID(checked: "bob"), signIn: nil))
        #expect(keys.admission(by: other, as: 9) == .asUser(UserID(checked: "bob"), signIn: nil))
        #expect(keys.takeExpired() == [])
        #expect(keys.change(toTokens: tokens) == [])
        keys.onClosed(9)
        #expect(keys.change(toTokens: nil) == [1])
        #expect(keys.admission(by: token, as: 1) == nil)
        #expect(keys.change(toTokens: tokens) == [])
        #expect(keys.admission(by: token, as: 1) == .asUser(UserID(checked: "alice"), signIn: nil))
        now.withLock { $0 = 2_000 }
        #expect(keys.takeExpired() == [1] && keys.takeExpired() == [])
        #expect(keys.admission(by: token, as: 3) == nil)
    }

    @Test func `a key that is taken away takes its sessions with it`() throws {
        let authPolicy = ClientKeys(
            try ring(old), now: { 0 }, onSignIn: { _ in }, onRefusal: { _ in })
        #expect(authPolicy.admission(by: old, as: 1) == .asOperator)
        #expect(authPolicy.admission(by: old, as: 2) == .asOperator)
        #expect(authPolicy.change(to: try ring(old, next)) == [])
        #expect(authPolicy.admission(by: next, as: 3) == .asOperator)
        #expect(authPolicy.change(to: try ring(next, old)) == [])
        authPolicy.onClosed(2)
        #expect(authPolicy.change(to: try ring(next)) == [1])
        #expect(authPolicy.admission(by: old, as: 4) == nil)
        #expect(authPolicy.admission(by: next, as: 4) == .asOperator)
    }
}
