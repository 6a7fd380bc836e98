import Testing

@testable import Crypto

@Suite struct PasswordTests {
    private let password = Array("correct horse".utf8)

    @Test func `a hash verifies its password alone, and has a salt of its own`() throws {
        let hash = try #require(Password.hash(password))
        #expect(hash.hasPrefix("$argon2id$v=19$m=19456,t=2,p=1$"))
        #expect(Password.verifies(password, hash))
        #expect(!Password.verifies(password + [0], hash) && !Password.verifies([], hash))
        #expect(Password.hash(password) != hash)
    }

    @Test(arguments: [
        ["pässword", "pa\u{308}ssword"], ["ｐａｓｓ１２３４", "pass1234"],
        ["correct\u{A0}horse", "correct horse", "correct\u{1680}horse"],
    ])
    func `a password is the same on all keyboards`(_ spellings: [String]) throws {
        for spelling in spellings {
            let hash = try #require(Password.hash(spelling))
            #expect(spellings.allSatisfy { Password.verifies($0, hash) })
            #expect(!Password.verifies("Pässword", hash))
        }
    }

    @Test func `the hash of a password as it was typed is good`() throws {
        let typed = "pa\u{308}ssword"
        let hash = try #require(Password.hash(Array(typed.utf8)))
        #expect(Password.verifies(typed, hash) && !Password.verifies("pässword", hash))
    }

    @Test func `a hash of another library is verified`() {
        let hash =
            "$argon2id$v=19$m=19456,t=2,p=1$1NCDUd1ScTTaaO1+bmDBJg"
            + "$ihmCm6LzZKkJwbHHwh+AFc5gxjBCR6AImKShAmbAwPw"
        #expect(Password.verifies(password, hash))
        #expect(!Password.verifies(Array("correct house".utf8), hash))
    }

    @Test(arguments: ["", "x", "$argon2id$", String(repeating: "$argon2id$v=19$", count: 40)])
    func `a text that is no hash verifies nothing`(_ hash: String) {
        #expect(!Password.verifies(password, hash))
    }
}
