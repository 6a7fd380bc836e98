import CRDT
import Chat
import Crypto
import HTTP
import JSON
import LineProtocol
import Node
import Testing
import Wire

@testable import Gateway

@Suite struct AccountTests {
    // MARK: Addresses

    @Test func `attempts that are made at once have a pause each`() {
        let looking = AttemptLimiter.Subject.lookUps(by: UserID("alice")!)
        var limiter = AttemptLimiter()
        let twenty = Array(repeating: looking, count: 20)
        #expect(limiter.begin(twenty, now: 0) == nil)
        #expect(limiter.begin(twenty, now: 0) == nil)
        // Eleven of them were beyond the free ones, or at their end.
        #expect(limiter.begin(twenty, now: 0) == 110)
        #expect(limiter.begin(twenty, now: 109_000) == 1)
        #expect(limiter.begin(twenty, now: 110_000) == nil)
    }

    @Test func `addresses that differ in case are one, and are kept as they were typed`() throws {
        let (one, other) = (try EmailAddress("Al@Example.ORG"), try EmailAddress("al@example.org"))
        #expect(one.digest == other.digest && one.text == "Al@Example.ORG")
        #expect(isName(one.digest.text.utf8))
        #expect(try EmailAddress("bo@example.org").digest != one.digest)
    }

    @Test(arguments: [
        ["é@b.org", "e\u{301}@b.org", "É@B.org", "E\u{301}@b.org"],
        ["straße@b.org", "STRASSE@b.org", "strasse@b.org"],
        [
            "al@bücher.example", "AL@BÜCHER.EXAMPLE", "al@xn--bcher-kva.example",
            "al@Bu\u{308}cher。example",
        ],
        ["al@b.org", "al@b.org.", "Al@B.ORG"],
    ])
    func `one address is one account, however it is spelled`(_ spellings: [String]) throws {
        let digests = try spellings.map { try EmailAddress($0).digest }
        #expect(Set(digests).count == 1)
        for spelling in spellings {
            #expect(try EmailAddress.storedDigests(of: spelling).first == digests[0])
        }
    }

    /// The digests of a version that compared bytes are those that accounts have on disk.
    @Test func `accounts of an earlier version are found by their own spelling`() throws {
        #expect(try EmailAddress.storedDigests(of: "Al@Example.org").count == 1)
        let earlier = Base64.encode(Digest.sha256(Array("É@b.org".utf8)))
        #expect(try EmailAddress.storedDigests(of: "É@B.org").last?.text == earlier)
        let unseen = Base64.encode(Digest.sha256(Array("al\u{200B}@b.org".utf8)))
        #expect(try EmailAddress.storedDigests(of: "al\u{200B}@b.org").map(\.text) == [unseen])
    }

    @Test(arguments: [
        "", "al", "@example.org", "al@", "a@b@c", "a b@example.org", "a\n@b", "a\u{A0}@b",
        String(repeating: "a", count: 250) + "@b.org", "al\u{200B}@b.org", "\u{202E}al@b.org",
        "al\u{AD}@b.org", "al@b\u{2066}.org", "al\u{FE0F}@b.org", "al@xn--\u{FC}.org", "al@.",
    ])
    func `what is no address is refused`(_ text: String) {
        #expect(throws: LineError.self) { try EmailAddress(text) }
    }

    // MARK: Refresh tokens

    private let token = AccountTests.token(secret: "x1")

    private static func token(secret: String) -> RefreshToken {
        RefreshToken(
            address: AddressID(checked: "a1"), user: UserID(checked: "alice"),
            signIn: SignInID(checked: "s1"), secret: secret, began: HybridTimestamp(bits: 4),
            stamp: HybridTimestamp(bits: 5))
    }

    private func read(_ text: String, _ keys: ClusterKeys.Key...) -> Result<RefreshToken, LineError>
    {
        Result { () throws(LineError) in
            try RefreshToken(text, signedBy: keys) { $0 == "coming" }
        }
    }

    @Test func `a refresh token is read as a node has signed it, and no change of it`() throws {
        let key = Self.key("k1", createdAt: 5)
        let text = token.text(signedBy: key)
        #expect(try read(text, Self.key("k0", createdAt: 1), key).get() == token)
        #expect(!token.digest.text.contains("x1"))
        var others = ClusterKeys.Key(
            name: "k1", secret: [UInt8](repeating: 8, count: 32), createdAt: 5, readAt: 0)
        #expect(read(text, others) == .failure(.refreshTokenRefused))
        others = Self.key("k2", createdAt: 5)
        #expect(read(text, others) == .failure(.refreshTokenRefused))
        let early = token.text(signedBy: Self.key("coming", createdAt: 5))
        #expect(read(early, key) == .failure(.keyComing))
        let bytes = Array(text.utf8)
        for place in stride(from: 0, to: bytes.count - 1, by: 3) {
            var changed = bytes
            changed[place] = changed[place] == UInt8(ascii: "A") ? UInt8(ascii: "B") : 0x41
            #expect(throws: LineError.self) {
                try read(String(decoding: changed, as: UTF8.self), key).get()
            }
        }
    }

    @Test(arguments: ["", "a~b~c", "a~b~c~d~e~f~g~h", "a~~c~d~1~1~k1~g", "a~b~c\n~d~1~1~k1~g"])
    func `what is no refresh token is refused`(_ text: String) {
        let key = Self.key("k1", createdAt: 5)
        #expect(read(text, key) == .failure(.refreshTokenRefused))
        #expect(
            read(String(repeating: "a", count: 800), key) == .failure(.refreshTokenRefused))
    }

    @Test func `the next token follows from the request and the key alone`() {
        let key = Self.key("k1", createdAt: 5)
        let next = token.nextSecret(for: "q1", by: key)
        #expect(next == token.nextSecret(for: "q1", by: key))
        #expect(next != token.nextSecret(for: "q2", by: key))
        #expect(next != AccountTests.token(secret: "x2").nextSecret(for: "q1", by: key))
    }

    @Test func `a key that is too short to be safe is not used`() {
        var keys = ClusterKeys()
        _ = keys.insert(
            news("KEY id=k1 secret=x1 stamp=1"), readAt: 1, now: 1)
        #expect(keys.keys.isEmpty)
    }

    // MARK: Keys

    private static func key(_ name: String, createdAt: Int64) -> ClusterKeys.Key {
        ClusterKeys.Key(
            name: name, secret: [UInt8](repeating: 7, count: 32), createdAt: createdAt, readAt: 0)
    }

    /// Returns news of keys and revocations in the form in which `KEYS` lists them.
    private func news(_ lines: String...) -> SigningNews {
        var news = SigningNews()
        for line in lines {
            guard case .data(let noun, let fields)? = ReplyLine(line) else {
                Issue.record("\(line) is no line of a reply")
                continue
            }
            func stamp(_ key: String) -> UInt64 { fields[key].flatMap { UInt64($0) } ?? 0 }
            switch noun {
            case "KEY":
                news.keys.append(
                    SigningNews.Key(
                        name: fields["id"] ?? "", secret: fields["secret"] ?? "",
                        stamp: stamp("stamp")))
            case "REVOKED": news.revoked.append((fields["name"] ?? "", stamp("through")))
            default: news.forgotten.append(fields["name"] ?? "")
            }
        }
        return news
    }

    private let secret = Base64.encode([UInt8](repeating: 7, count: 32))

    @Test func `a key signs once all nodes have had the time to read it`() {
        var keys = ClusterKeys()
        #expect(keys.keySet == nil && !keys.needsKey(wallMilliseconds: 0))
        let empty = keys.insert(news(), readAt: 1, now: 1)
        #expect(empty && keys.needsKey(wallMilliseconds: 0))
        let line = "KEY id=k1 secret=\(secret) stamp=\(1_000 << 16)"
        let isNews = keys.insert(news(line), readAt: 2, now: 100)
        let isNewsAgain = keys.insert(news(line), readAt: 3, now: 200)
        #expect(isNews && !isNewsAgain)
        #expect(keys.signer(now: 1_099) == nil && keys.signer(now: 1_100)?.name == "k1")
        let later = "KEY id=k2 secret=\(secret) stamp=\(2_000 << 16)"
        _ = keys.insert(news(line, later), readAt: 4, now: 5_000)
        #expect(keys.signer(now: 5_999)?.name == "k1" && keys.signer(now: 6_000)?.name == "k2")
        let month = UInt64(ClusterKeys.ageMaxMilliseconds)
        #expect(!keys.needsKey(wallMilliseconds: 2_000 + month))
        #expect(keys.needsKey(wallMilliseconds: 2_001 + month))
    }

    @Test func `a key that was not read yet is waited for until the next read`() {
        var keys = ClusterKeys()
        let first = keys.isComing("k1", now: 5)
        _ = keys.insert(news(), readAt: 10, now: 10)
        let second = keys.isComing("k1", now: 11)
        let third = keys.isComing("k2", now: 12)
        // A read that began before the token came may have missed the key.
        _ = keys.insert(news(), readAt: 11, now: 13)
        let fourth = keys.isComing("k2", now: 14)
        _ = keys.insert(news(), readAt: 15, now: 16)
        let fifth = keys.isComing("k2", now: 17)
        #expect([first, second, third, fourth, fifth] == [true, false, true, true, false])
    }

    @Test func `names of unknown keys take no more than their place`() {
        var keys = ClusterKeys()
        let coming = (0..<10_000).count { keys.isComing("k\($0)", now: 5) }
        #expect(coming == 256)
    }

    // MARK: Revocations

    private func access(_ stamp: UInt64, in keys: ClusterKeys) throws -> AccessToken {
        let signIn = DeviceSignIn(
            address: AddressID(checked: "a1"), id: SignInID(checked: "s1"),
            began: HybridTimestamp(bits: stamp))
        let text = AccessToken.signed(
            by: try #require(keys.keys.last), of: UserID(checked: "alice"), signIn, from: 100,
            to: 700)
        let set = try #require(keys.keySet)
        return try AccessToken(text, signedBy: set, now: 100_000)
    }

    @Test func `a token of the cluster names its user and its sign-in`() throws {
        var keys = ClusterKeys()
        _ = keys.insert(
            news("KEY id=k1 secret=\(secret) stamp=1"), readAt: 1, now: 1)
        let token = try access(1 << 62, in: keys)
        #expect(token.user == UserID(checked: "alice") && token.expiresAt == 700_000)
        #expect(
            token.signIn
                == DeviceSignIn(
                    address: AddressID(checked: "a1"), id: SignInID(checked: "s1"),
                    began: HybridTimestamp(bits: 1 << 62)))
    }

    @Test func `a token is revoked by its sign-in, or by its user up to a stamp`() throws {
        var keys = ClusterKeys()
        let key = "KEY id=k1 secret=\(secret) stamp=1"
        _ = keys.insert(news(key), readAt: 1, now: 1)
        let (early, late) = (try access(7, in: keys), try access(8, in: keys))
        _ = keys.insert(
            news(key, "REVOKED name=alice through=7"), readAt: 2, now: 2)
        #expect(throws: LineError.signedOut) { try access(7, in: keys) }
        #expect(!early.isValid("", keys.keySet) && late.isValid("", keys.keySet))
        _ = keys.insert(news("REVOKED name=s1 through=3"), readAt: 4, now: 4)
        #expect(!late.isValid("", keys.keySet))
        // Once the tokens have ended, nothing is kept of them.
        _ = keys.insert(news("FORGOTTEN name=s1", "FORGOTTEN name=alice"), readAt: 5, now: 5)
        #expect(keys.revocations == Revocations())
    }

    // MARK: Limits

    @Test func `a user looks up 30 addresses, and then one in ten seconds`() {
        var attempts = AttemptLimiter()
        let lookUps = AttemptLimiter.Subject.lookUps(by: UserID(checked: "al"))
        for _ in 0..<30 { #expect(attempts.begin([lookUps], now: 5) == nil) }
        var now: UInt64 = 5
        for _ in 0..<5 {
            #expect(attempts.begin([lookUps], now: now) == 10)
            now += 10_000
            #expect(attempts.begin([lookUps], now: now) == nil)
        }
    }

    private let guesses = AttemptLimiter.Subject(name: "alice", free: 5)

    @Test func `each attempt beyond the free ones doubles the pause, up to the longest`() {
        var attempts = AttemptLimiter()
        var now: UInt64 = 0
        var pauses: [Int] = []
        for _ in 0..<20 {
            var pause = attempts.begin([guesses], now: now)
            if let first = pause {
                now += UInt64(first) * 1_000
                pause = attempts.begin([guesses], now: now)
                pauses.append(first)
            }
            #expect(pause == nil)
        }
        #expect(pauses.prefix(4) == [1, 2, 4, 8])
        // Meanwhile one attempt or two are forgiven.
        #expect((512...900).contains(pauses.last ?? 0) && pauses.max() ?? 0 <= 900)
        let other = AttemptLimiter.Subject(name: "bob", free: 5)
        #expect(attempts.begin([other], now: now) == nil)
        attempts.forgetAll(of: guesses)
        #expect(attempts.begin([guesses], now: now) == nil)
        #expect(attempts.begin([guesses], now: now) == nil)
    }

    @Test func `many attempts at once are no way around the pauses`() {
        var attempts = AttemptLimiter()
        let made = (0..<100).count { _ in attempts.begin([guesses], now: 5) == nil }
        #expect(made == 5)
    }

    @Test func `attempts are forgiven one by one`() {
        var attempts = AttemptLimiter()
        for _ in 0..<5 { _ = attempts.begin([guesses], now: 0) }
        #expect(attempts.begin([guesses], now: 999) == 1)
        #expect(attempts.begin([guesses], now: guesses.forgiving) == nil)
        #expect(attempts.begin([guesses], now: guesses.forgiving) != nil)
    }

    @Test func `names that are tried take no more than their place`() {
        var attempts = AttemptLimiter()
        for number in 0..<(2 * AttemptLimiter.recordsMax) {
            let subject = AttemptLimiter.Subject(name: "\(number)", free: 1)
            _ = attempts.begin([subject], now: UInt64(number))
        }
        let last = 2 * AttemptLimiter.recordsMax - 1
        let subject = AttemptLimiter.Subject(name: "\(last)", free: 1)
        #expect(attempts.begin([subject], now: UInt64(last)) != nil)
    }

    // MARK: Requests

    @Test func `each request about an account takes its own keys`() throws {
        let email = JSONValue.Member("email", .text("a@b"))
        let password = JSONValue.Member("password", .text("12345678"))
        #expect(
            try AccountRoute.signUp.values(of: [email, password])
                == ["email": "a@b", "password": "12345678"])
        #expect(throws: LineError.self) { try AccountRoute.signUp.values(of: [email]) }
        #expect(throws: LineError.self) {
            try AccountRoute.signIn.values(of: [
                email, JSONValue.Member("password", .integer(12_345_678)),
            ])
        }
        #expect(throws: LineError.self) { try AccountRoute.show.values(of: [email]) }
        #expect(AccountRoute(.post, ["v1", "accounts"]) == .signUp)
        #expect(AccountRoute(.get, ["v1", "accounts"]) == nil)
        #expect(AccountRoute(.post, ["accounts"]) == nil)
        #expect(AccountRoute.methods(of: ["v1", "sessions"]) == [.post, .delete])
    }
}
