import Crypto
import JSON
import LineProtocol
import Testing
import Wire

@testable import Gateway

@Suite struct AccessTokenTests {
    private static let now: Int64 = 1_800_000_000_000

    private func keys(_ texts: String...) throws(KeySet.Unusable) -> KeySet {
        let text = #"{"keys":["# + texts.joined(separator: ",") + "]}"
        return try KeySet(reading: Array(text.utf8))
    }

    private func read(_ token: String, _ keys: KeySet) -> Result<AccessToken, LineError> {
        Result { () throws(LineError) in
            try AccessToken(token, signedBy: keys, now: Self.now)
        }
    }

    @Test(arguments: SignedTokens.all.indices)
    func `a token of another library is accepted, and no change of it`(_ index: Int) throws {
        let sample = SignedTokens.all[index]
        let keys = try keys(sample.key)
        #expect(try read(sample.token, keys).get().user == UserID(checked: "alice"))
        let bytes = Array(sample.token.utf8)
        for place in stride(from: 0, to: bytes.count - 1, by: 7) {
            var changed = bytes
            changed[place] = changed[place] == UInt8(ascii: "A") ? UInt8(ascii: "B") : 0x41
            let text = String(decoding: changed, as: UTF8.self)
            #expect(throws: LineError.self) { try read(text, keys).get() }
        }
    }

    @Test func `a key is used with its own algorithm alone`() throws {
        let all = SignedTokens.all
        for sample in all {
            let others = all.filter { $0.algorithm != sample.algorithm }.map(\.key)
            let keys = try KeySet(
                reading: Array((#"{"keys":["# + others.joined(separator: ",") + "]}").utf8))
            #expect(read(sample.token, keys) == .failure(.tokenRefused))
        }
    }

    @Test(arguments: [
        (#"{"alg":"none"}"#, #"{"sub":"alice","exp":4102444800}"#),
        (#"{"alg":"HS256","crit":["exp"]}"#, #"{"sub":"alice","exp":4102444800}"#),
        (#"{"alg":"HS512"}"#, #"{"sub":"alice","exp":4102444800}"#),
        (#"{"alg":"HS256"}"#, #"{"sub":"a b","exp":4102444800}"#),
        (#"{"alg":"HS256"}"#, #"{"sub":"alice"}"#),
        (#"{"alg":"HS256"}"#, #"{"sub":"alice","exp":1799999999}"#),
        (#"{"alg":"HS256"}"#, #"{"sub":"alice","exp":1800000000}"#),
        (#"{"alg":"HS256"}"#, #"{"sub":"alice","exp":"4102444800"}"#),
        (#"{"alg":"HS256"}"#, #"{"sub":"alice","exp":99999999999999999}"#),
        (#"{"alg":"HS256"}"#, #"{"sub":"alice","exp":4102444800,"nbf":1800000006}"#),
        (#"{"alg":"HS256"}"#, #"{"exp":4102444800}"#),
        (#"{"alg":"HS256"}"#, #"{"sub":"alice","sub":"bob","exp":4102444800}"#),
        (#"{"alg":"HS256"}"#, "[]"),
    ])
    func `what says nothing of a user for now is refused`(header: String, claims: String) throws {
        let keys = try keys(Self.secretKey)
        #expect(throws: LineError.self) { try read(signed(header, claims), keys).get() }
    }

    @Test func `the times of a token bound its use`() throws {
        let keys = try keys(Self.secretKey)
        let claims = #"{"sub":"alice","exp":1800000001.5,"nbf":1800000005}"#
        let access = try read(signed(#"{"alg":"HS256"}"#, claims), keys).get()
        #expect(access.expiresAt == 1_800_000_001_000)
    }

    @Test func `a token names its key where there are several`() throws {
        let named = Self.secretKey.replacing("{", with: #"{"kid":"one","#)
        let keys = try keys(named)
        let claims = #"{"sub":"alice","exp":4102444800}"#
        _ = try read(signed(#"{"alg":"HS256","kid":"one"}"#, claims), keys).get()
        _ = try read(signed(#"{"alg":"HS256"}"#, claims), keys).get()
        #expect(
            read(signed(#"{"alg":"HS256","kid":"two"}"#, claims), keys) == .failure(.tokenRefused))
    }

    @Test(arguments: [
        "", "a", "a.b", "a.b.c", "...", "a.b.c.d", String(repeating: "a.", count: 5_000),
    ])
    func `any text is read`(_ text: String) throws {
        #expect(read(text, try keys(Self.secretKey)) == .failure(.tokenRefused))
    }

    @Test(arguments: [
        "{", "{}", #"{"keys":[]}"#, #"{"keys":[{}]}"#, #"{"kty":"oct","k":"c2hvcnQ"}"#,
        #"{"kty":"oct"}"#, #"{"kty":"EC","crv":"P-256","x":"AA","y":"AA"}"#,
        #"{"kty":"EC","crv":"P-384"}"#, #"{"kty":"OKP","crv":"Ed25519","x":"AA"}"#,
        SignedTokens.shortKey,
    ])
    func `a file that is no set of keys says why`(_ text: String) {
        #expect(throws: KeySet.Unusable.self) { try KeySet(reading: Array(text.utf8)) }
    }

    @Test func `the number of keys is bounded`() throws {
        let many = Array(repeating: Self.secretKey, count: KeySet.keysMax + 1)
        let text = #"{"keys":["# + many.joined(separator: ",") + "]}"
        #expect(throws: KeySet.Unusable.self) { try KeySet(reading: Array(text.utf8)) }
    }

    @Test func `a token that an app has signed is no sign-in of the cluster`() throws {
        let claims = #"{"sub":"alice","exp":1800000060,"sid":"s1","adr":"a1","at":1}"#
        let token = signed(#"{"alg":"HS256"}"#, claims)
        var ofApp = try keys(Self.secretKey)
        #expect(try read(token, ofApp).get().signIn != nil)
        ofApp.rules = TokenRules()
        let access = try read(token, ofApp).get()
        #expect(access.signIn == nil)
        // It ends with its key.
        #expect(access.isValid(token, ofApp))
        var others = try keys(SignedTokens.all[0].key)
        others.rules = TokenRules()
        #expect(!access.isValid(token, others))
    }

    private static let secret = Array("0123456789abcdef0123456789abcdef".utf8)
    private static let secretKey =
        #"{"kty":"oct","k":""# + Base64.encode(secret) + #""}"#

    private func signed(_ header: String, _ claims: String) -> String {
        let text =
            Base64.encode(Array(header.utf8)) + "." + Base64.encode(Array(claims.utf8))
        return text + "." + Base64.encode(Digest.hmacSHA256(text.utf8, key: Self.secret))
    }
}
