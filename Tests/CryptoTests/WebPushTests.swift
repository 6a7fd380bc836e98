import Crypto
import Testing
import Wire

/// A message that another program has encrypted.
struct PushVector: Sendable {
    let payload: [UInt8]
    /// The keys of the subscription.
    let key: [UInt8]
    let auth: [UInt8]
    let salt: [UInt8]
    /// The private key of the message.
    let ephemeral: [UInt8]
    let body: [UInt8]

    init(
        payload: String, key: String, auth: String, salt: String, ephemeral: String, body: String
    ) throws {
        self.payload = Array(payload.utf8)
        self.key = try decoded(key)
        self.auth = try decoded(auth)
        self.salt = try decoded(salt)
        self.ephemeral = try decoded(ephemeral)
        self.body = try decoded(body)
    }

    /// RFC 8291, appendix A.
    static func ofStandard() throws -> PushVector {
        try PushVector(
            payload: "When I grow up, I want to be a watermelon",
            key: """
                BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNto\
                IAiw4
                """,
            auth: "BTBZMqHH6r4Tts7J_aSIgg", salt: "DGv6ra1nlYgDCS1FRnbzlw",
            ephemeral: "yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw",
            body: """
                DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYL\
                ocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyou\
                BWLVWGNWQexSgSxsj_Qulcy4a-fN
                """)
    }

    /// A body of http-ece 1.2.1 with cryptography 50.0.2.
    static func ofOthers() throws -> PushVector {
        try PushVector(
            payload: #"{"v":1,"text":"Grüße"}"#,
            key: """
                BJqRDNUYMicgRJ-pWiElI7wghCMOudua03kAnQxEDMGNare-zmhnoF5NIDrgohfJkrt2eUoCIyLfeMudAR\
                QoFS0
                """,
            auth: "OQX_U3AUAiAxm_wfp84W2A", salt: "0zzzLAWD-bFJLoQc8tJTYg",
            ephemeral: "qqUdr2AdgBBhO2kbsPqwav33icTHa6yOaU0NbILEnbg",
            body: """
                0zzzLAWD-bFJLoQc8tJTYgAAEABBBJ9kOJqOAI52BdFp0CmQZDAwoIcxqrRHSw2O4YgVpHnnUEO_I-voZb\
                65OatxLf2go_b5VPdGVK567HLRwAc5CijCITYkEXoIdYHO4GQU7_cGeWLaLcLZSvhgboREhNeah3pG1DF8\
                5Co5DQ
                """)
    }
}

private func decoded(_ text: String) throws -> [UInt8] { try #require(Base64.decode(text)) }

@Suite struct WebPushTests {
    @Test func `a message is encrypted as the standard and another library encrypt it`() throws {
        for vector in [try PushVector.ofStandard(), try PushVector.ofOthers()] {
            let ephemeral = try #require(ECKeyPair(privateKey: vector.ephemeral))
            let body = WebPush.encrypt(
                vector.payload, for: vector.key, auth: vector.auth, salt: vector.salt,
                ephemeral: ephemeral)
            #expect(body == vector.body)
        }
    }

    @Test func `the longest payload makes a body of 4,096 bytes, and a longer one none`() throws {
        // The digest is that of the body that http-ece made.
        let ephemeral = try #require(
            ECKeyPair(privateKey: try decoded("RFuXOMk8SBWNRVzLxZ7vhZLtquZRP9e_W91b5rScCWY")))
        let key = try decoded(
            "BIYjy5Cdpt7luKPYT1eecf-8qgneWLNMNVnQcxHeBNbAlUdWGX0mb9qm3_n-eFP3q87jwiL8KfYDEY2Tpg_"
                + "Rthk")
        let auth = try decoded("28LyJuqYSJeuHH2xCqFveA")
        let salt = try decoded("eD7eZlhoXXr0tBRXH-jXgA")
        func encrypt(_ count: Int) -> [UInt8]? {
            let payload = (0..<count).map { UInt8($0 * 7 % 251) }
            return WebPush.encrypt(payload, for: key, auth: auth, salt: salt, ephemeral: ephemeral)
        }
        #expect(WebPush.payloadBytesMax == 3_993)
        let body = try #require(encrypt(WebPush.payloadBytesMax))
        #expect(body.count == 4_096)
        #expect(
            Base64.encode(Digest.sha256(body)) == "ltyvbZeNbMLzFikO4Wb-cAq_tMRgrtoawavSdIT5sC0")
        #expect(encrypt(WebPush.payloadBytesMax + 1) == nil)
        #expect(encrypt(0)?.count == 103)
    }

    @Test func `a key that is no point of the curve encrypts nothing`() throws {
        let vector = try PushVector.ofStandard()
        func encrypts(_ key: [UInt8]) -> Bool {
            WebPush.encrypt(
                vector.payload, for: key, auth: vector.auth, salt: vector.salt,
                ephemeral: ECKeyPair.generate()) != nil
        }
        #expect(encrypts(vector.key))
        let prime = try decoded("_____wAAAAEAAAAAAAAAAAAAAAD_______________8")
        let compressed = [2 + (vector.key[64] & 1)] + vector.key[1..<33]
        let hostile: [[UInt8]] = [
            [], [0], [4], compressed, vector.key + [0], Array(vector.key.dropLast()),
            [UInt8](repeating: 0, count: 65), [UInt8](repeating: 0xFF, count: 65),
            [4] + [UInt8](repeating: 0, count: 64), [4] + [UInt8](repeating: 0xFF, count: 64),
            [4] + prime + vector.key[33...], [4] + vector.key[33...] + vector.key[1..<33],
            vector.key.dropLast() + [vector.key[64] ^ 1],
            // The forms with which OpenSSL would take as many bytes.
            [6 + (vector.key[64] & 1)] + vector.key[1...], [2] + vector.key[1...],
        ]
        for key in hostile { #expect(!encrypts(key), "\(key)") }
    }

    @Test(arguments: [0, 1, 15, 17, 32])
    func `a secret or a salt of another length encrypts nothing`(_ count: Int) throws {
        let vector = try PushVector.ofStandard()
        let bytes = [UInt8](repeating: 1, count: count)
        let ephemeral = ECKeyPair.generate()
        #expect(
            WebPush.encrypt(
                [1], for: vector.key, auth: bytes, salt: vector.salt, ephemeral: ephemeral) == nil)
        #expect(
            WebPush.encrypt(
                [1], for: vector.key, auth: vector.auth, salt: bytes, ephemeral: ephemeral) == nil)
    }

    @Test func `an authorization is a token that its key verifies`() throws {
        let pair = ECKeyPair.generate()
        let value = try #require(
            WebPush.authorization(
                audience: "https://push.example.net", subject: "mailto:ops@example.com",
                expiresAt: 1_453_523_768, key: pair, base64url: Base64.encode))
        let match = try #require(
            value.wholeMatch(of: #/vapid t=([\w-]+)\.([\w-]+)\.([\w-]+), k=([\w-]+)/#))
        let header = try decoded(String(match.output.1))
        let claims = try decoded(String(match.output.2))
        #expect(String(decoding: header, as: UTF8.self) == #"{"typ":"JWT","alg":"ES256"}"#)
        #expect(
            String(decoding: claims, as: UTF8.self)
                == """
                {"aud":"https://push.example.net","exp":1453523768,"sub":"mailto:ops@example.com"}
                """)
        let key = try #require(PublicKey.p256(point: try decoded(String(match.output.4))))
        let message = Array("\(match.output.1).\(match.output.2)".utf8)
        let signature = try decoded(String(match.output.3))
        #expect(SignatureKey.es256(key).verifies(signature, of: message))
        #expect(!SignatureKey.es256(key).verifies(signature, of: message + [0]))
    }

    @Test(arguments: ["\"", "\\", "\n", "a b", "ü", "\u{7F}"])
    func `an audience or a subject that is no URL authorizes nothing`(_ text: String) {
        func authorization(_ audience: String, _ subject: String) -> String? {
            WebPush.authorization(
                audience: audience, subject: subject, expiresAt: 1, key: ECKeyPair.generate(),
                base64url: Base64.encode)
        }
        #expect(authorization("https://push.example.net" + text, "mailto:ops@example.com") == nil)
        #expect(authorization("https://push.example.net", "mailto:ops@example.com" + text) == nil)
    }
}

@Suite struct ECKeyPairTests {
    @Test func `the public key of a private one is that of another library`() throws {
        let pair = try #require(
            ECKeyPair(privateKey: try decoded("8NwFyP4cwkOMqYO30YDSH79ZBkEb919vuYNoYbghBVA")))
        let publicKey = try decoded(
            "BJr2vfLoxWPzVGSFggWABiQxVjXDUoDxMK4mT6QqeVhioDseXVlx65mnmn1eNtwOnOrmWWTJo3vwjd_S5Um"
                + "wjfw")
        #expect(pair.publicKey == publicKey)
        // Its signature of the word, whose first number begins with a zero.
        let signature = try decoded(
            "ANjWXF0wPKyUxbcwj18degq82RAhCgkq8YN_iOCIjMCqj3Vbv8XCXlCWUo_H227tlPglryA4hMICw2so4-u"
                + "gNA")
        let key = try #require(PublicKey.p256(point: pair.publicKey))
        #expect(SignatureKey.es256(key).verifies(signature, of: Array("Grapevine".utf8)))
    }

    @Test func `a pair that is generated is another each time, and is made again from its number`()
        throws
    {
        let pairs = (0..<8).map { _ in ECKeyPair.generate() }
        #expect(Set(pairs.map(\.publicKey)).count == pairs.count)
        for pair in pairs {
            #expect(ECKeyPair(privateKey: pair.privateKey)?.publicKey == pair.publicKey)
        }
    }

    @Test func `signatures have 64 bytes, whatever their numbers begin with`() throws {
        let pair = ECKeyPair.generate()
        let key = try #require(PublicKey.p256(point: pair.publicKey))
        // One in 128 signatures has a number that begins with a zero.
        for number in 0..<1_000 {
            let message = Array("message \(number)".utf8)
            let signature = try #require(pair.signature(of: message))
            #expect(signature.count == 64)
            #expect(SignatureKey.es256(key).verifies(signature, of: message))
        }
    }

    @Test func `a number that the curve does not have is no private key`() throws {
        // SEC 2, section 2.4.2: the order of the curve.
        let order = try decoded("_____wAAAAD__________7zm-q2nF56E87nKwvxjJVE")
        let below = Array(order.dropLast()) + [0x50]
        #expect(ECKeyPair(privateKey: below) != nil)
        #expect(ECKeyPair(privateKey: order) == nil)
        #expect(ECKeyPair(privateKey: [UInt8](repeating: 0xFF, count: 32)) == nil)
        #expect(ECKeyPair(privateKey: [UInt8](repeating: 0, count: 32)) == nil)
        for count in [0, 1, 31, 33, 64] {
            #expect(ECKeyPair(privateKey: [UInt8](repeating: 1, count: count)) == nil)
        }
    }
}
