import Crypto
import Testing

@Suite struct DigestTests {
    @Test func `the hashes are those of their standards`() {
        // FIPS 180-4, the examples for "abc".
        #expect(hex(Digest.sha1("abc".utf8)) == "a9993e364706816aba3e25717850c26c9cd0d89d")
        #expect(
            hex(Digest.sha256("abc".utf8))
                == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        // RFC 4231, section 4.3.
        let code = Digest.hmacSHA256("what do ya want for nothing?".utf8, key: Array("Jefe".utf8))
        #expect(hex(code) == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
    }

    @Test func `byte strings are equal where all bytes are`() {
        #expect(Digest.areEqual([1, 2], [1, 2]) && Digest.areEqual([], []))
        #expect(!Digest.areEqual([1, 2], [1, 3]) && !Digest.areEqual([1, 2], [1]))
    }

    private func hex(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}

@Suite struct SignatureKeyTests {
    @Test func `numbers that are no key are refused`() {
        let bytes = [UInt8](repeating: 7, count: 32)
        #expect(PublicKey.p256(x: bytes, y: bytes) == nil)
        #expect(PublicKey.p256(x: [], y: bytes) == nil)
        #expect(PublicKey.ed25519([1, 2, 3]) == nil)
        #expect(PublicKey.rsa(modulus: [], exponent: []) == nil)
        #expect(PublicKey.rsa(modulus: bytes, exponent: [1, 0, 1]) == nil)
        let long = [UInt8](repeating: 0xFF, count: SignatureKey.rsaBitsMax / 8 + 1)
        #expect(PublicKey.rsa(modulus: long, exponent: [1, 0, 1]) == nil)
    }

    @Test func `signatures of any length are read`() {
        let secret = SignatureKey.hs256([UInt8](repeating: 1, count: 32))
        let key = PublicKey.ed25519([UInt8](repeating: 1, count: 32))
        for count in [0, 1, 31, 32, 63, 64, 65, 1_000] {
            let signature = [UInt8](repeating: 9, count: count)
            #expect(!secret.verifies(signature, of: [1, 2, 3]))
            if let key { #expect(!SignatureKey.edDSA(key).verifies(signature, of: [])) }
        }
    }
}
