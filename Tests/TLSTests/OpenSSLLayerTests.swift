import NetworkIO
import Testing

@testable import TLS

@Suite struct OpenSSLLayerTests {
    private func ring(_ first: String, _ second: String? = nil) throws -> KeyRing {
        KeyRing(try key(first), try second.map(key))
    }

    private func up(_ theirs: KeyRing, _ ours: KeyRing, stepBytes: Int = .max) throws -> Wires {
        var wires = Wires(theirs, ours)
        try wires.talk(stepBytes: stepBytes)
        #expect(wires.isUp)
        return wires
    }

    @Test func `one key at both ends is enough, and the words pass both ways`() throws {
        let wires = try up(ring("a"), ring("a"))
        for (from, to) in [(wires.dialler, wires.acceptor), (wires.acceptor, wires.dialler)] {
            try from.seal(Array("hello".utf8))
            let wire = from.said()
            #expect(!wire.contains(subsequence: Array("hello".utf8)))
            try to.hear(wire)
            #expect(try to.opened() == Array("hello".utf8))
        }
    }

    @Test func `the secret of a connection is made anew by Diffie-Hellman`() throws {
        let context = TLSContext(try ring("a"))
        let tls = context.dialling()
        try tls.begin()
        let hello = tls.said()
        // psk_key_exchange_modes holds psk_dhe_ke and nothing else.
        #expect(hello.contains(subsequence: [0x00, 0x2d, 0x00, 0x02, 0x01, 0x01]))
    }

    @Test func `bytes that arrive one at a time are the same bytes`() throws {
        let wires = try up(ring("a"), ring("a"), stepBytes: 1)
        let text = (0..<40_000).map { UInt8(truncatingIfNeeded: $0) }
        try wires.dialler.seal(text)
        var heard: [UInt8] = []
        for byte in wires.dialler.said() {
            try wires.acceptor.hear([byte])
            heard += try wires.acceptor.opened()
        }
        #expect(heard == text)
    }

    @Test func `what follows a handshake in one piece is heard`() throws {
        let dialler = TLSContext(try ring("a")).dialling()
        let acceptor = TLSContext(try ring("a")).accepting()
        try dialler.begin()
        try acceptor.hear(dialler.said())
        try dialler.hear(acceptor.said())
        let text = [UInt8](repeating: 7, count: 3 * OpenSSLLayer.handshakeBytesMax)
        try dialler.seal(text)
        try acceptor.hear(dialler.said())
        #expect(acceptor.isUp)
        #expect(try acceptor.opened() == text)
    }

    @Test func `another key is refused at both ends, and neither is up`() throws {
        var wires = Wires(try ring("a"), try ring("b"))
        #expect(throws: HandshakeError.wrongKey) { try wires.talk() }
        #expect(!wires.isUp)
        #expect(throws: HandshakeError.wrongKey) { try wires.dialler.hear(wires.acceptor.said()) }
        #expect(!wires.dialler.isUp && !wires.acceptor.isUp)
    }

    /// Two keys have the same name only if somebody forges one.
    @Test func `who knows a key's name and not the key is refused`() throws {
        let context = TLSContext(try ring("a"))
        let liar = Liar(name: try key("a").identity, secret: [UInt8](repeating: 0, count: 32))
        let acceptor = context.accepting()
        #expect(throws: HandshakeError.unreadable) { try acceptor.hear(liar.hello()) }
        #expect(!acceptor.isUp)
        let honest = Liar(name: try key("a").identity, secret: try key("a").secret)
        let believed = context.accepting()
        try believed.hear(honest.hello())
        #expect(!believed.said().isEmpty)
    }

    @Test func `who shows a certificate in place of the key is refused`() throws {
        let dialler = TLSContext(try ring("a")).dialling()
        let impostor = try Impostor()
        try dialler.begin()
        #expect(throws: HandshakeError.unreadable) {
            try dialler.hear(impostor.answer(dialler.said()))
        }
        #expect(!dialler.isUp)
    }

    @Test func `who speaks TLS and knows no key is told apart from who has another`() throws {
        let stranger = Impostor.dialler()
        let acceptor = TLSContext(try ring("a")).accepting()
        #expect(throws: HandshakeError.noKey) { try acceptor.hear(stranger.hello()) }
        #expect(!acceptor.isUp)
    }

    @Test func `a change of keys has both ends understand each other at every step`() throws {
        let steps = [
            try ring("a"), try ring("a", "b"), try ring("b", "a"), try ring("b"),
        ]
        for (one, next) in zip(steps, steps.dropFirst()) {
            for (theirs, ours) in [(one, next), (next, one), (one, one), (next, next)] {
                let wires = try up(theirs, ours)
                #expect((wires.acceptor as? OpenSSLLayer)?.key == theirs.first)
                #expect((wires.dialler as? OpenSSLLayer)?.key == theirs.first)
            }
        }
        var late = Wires(steps[0], steps[3])
        #expect(throws: HandshakeError.wrongKey) { try late.talk() }
    }

    @Test func `a recorded handshake proves nothing when it is sent again`() throws {
        let context = TLSContext(try ring("a"))
        let dialler = context.dialling()
        var wires = Wires(dialler, context.accepting())
        try wires.talk()
        try dialler.seal(Array("FORGET n2".utf8))
        let recorded = wires.fromDialler + dialler.said()
        let acceptor = context.accepting()
        #expect(throws: HandshakeError.unreadable) { try acceptor.hear(recorded) }
        #expect(!acceptor.isUp)
        #expect(!acceptor.said().isEmpty)
        // Replayed bytes of the acceptor do not convince an end that dials, either.
        let another = context.dialling()
        try another.begin()
        #expect(throws: HandshakeError.unreadable) { try another.hear(wires.fromAcceptor) }
        #expect(!another.isUp)
    }

    @Test func `plain text is known by its first byte`() throws {
        for text in ["HELLO", "GET / HTTP/1.1\r\n\r\n", "\u{15}", "\0"] {
            let acceptor = TLSContext(try ring("a")).accepting()
            #expect(throws: HandshakeError.plainText) { try acceptor.hear(Array(text.utf8)) }
            #expect(acceptor.said().isEmpty)
        }
        let dialler = TLSContext(try ring("a")).dialling()
        try dialler.begin()
        #expect(throws: HandshakeError.plainText) { try dialler.hear(Array("ERR 400".utf8)) }
    }

    @Test func `junk that begins like a handshake is refused`() throws {
        for seed in 0..<200 as Range<UInt8> {
            let acceptor = TLSContext(try ring("a")).accepting()
            let junk = [22, 3, 1, 0, 200] + (0..<200).map { UInt8($0) &* 31 &+ seed }
            #expect(throws: HandshakeError.self) { try acceptor.hear(junk) }
            #expect(!acceptor.isUp)
        }
    }

    @Test func `who talks on and on before the handshake is done is cut off`() throws {
        let acceptor = TLSContext(try ring("a")).accepting()
        // Records of a handshake message that would be a megabyte long.
        let head: [UInt8] = [1, 0x0f, 0xff, 0xff]
        var bytes: [UInt8] = []
        for number in 0..<4 {
            let part = number == 0 ? head : []
            bytes += [22, 3, 1, 0x3f, 0xff] + part
            bytes += [UInt8](repeating: 1, count: 0x3fff - part.count)
        }
        #expect(throws: HandshakeError.self) { try acceptor.hear(bytes) }
        #expect(!acceptor.isUp)
        // A record that never becomes complete.
        let patient = TLSContext(try ring("a")).accepting()
        #expect(throws: HandshakeError.self) {
            for _ in 0..<40 { try patient.hear([22] + [UInt8](repeating: 3, count: 1_023)) }
        }
    }

    @Test func `half a handshake brings nobody up`() throws {
        var whole = Wires(try ring("a"), try ring("a"))
        try whole.talk()
        let count = whole.fromDialler.count
        for cut in [1, 5, 60, count / 2] {
            let dialler = TLSContext(try ring("a")).dialling()
            let acceptor = TLSContext(try ring("a")).accepting()
            try dialler.begin()
            try acceptor.hear(dialler.said().prefix(cut))
            #expect(!acceptor.isUp && !dialler.isUp)
        }
    }

    @Test func `a record that was touched ends the connection, after what came before it`() throws {
        let wires = try up(ring("a"), ring("a"))
        try wires.dialler.seal(Array("first".utf8))
        let first = wires.dialler.said()
        try wires.dialler.seal(Array("second".utf8))
        var second = wires.dialler.said()
        second[second.count - 3] ^= 1
        try wires.acceptor.hear(first + second)
        #expect(try Array(wires.acceptor.open()) == Array("first".utf8))
        #expect(throws: HandshakeError.unreadable) { try wires.acceptor.opened() }
        #expect(throws: HandshakeError.unreadable) { try wires.acceptor.opened() }
    }

    @Test func `a record said again, left out or in another order ends the connection`() throws {
        for order in [[0, 0], [1], [1, 0]] {
            let wires = try up(ring("a"), ring("a"))
            var records: [[UInt8]] = []
            for text in ["first", "second"] {
                try wires.dialler.seal(Array(text.utf8))
                records.append(wires.dialler.said())
            }
            try wires.acceptor.hear(order.flatMap { records[$0] })
            #expect(throws: HandshakeError.unreadable) {
                while try !wires.acceptor.opened().isEmpty {}
                _ = try wires.acceptor.opened()
            }
        }
    }

    @Test func `an end is announced, so that a cut is not taken for one`() throws {
        let wires = try up(ring("a"), ring("a"))
        try wires.dialler.seal(Array("last".utf8))
        try wires.dialler.sealEnd()
        #expect(!wires.acceptor.hasReachedEnd)
        try wires.acceptor.hear(wires.dialler.said())
        #expect(try wires.acceptor.opened() == Array("last".utf8))
        #expect(wires.acceptor.hasReachedEnd)
    }

    @Test func `the secret of a connection is replaced before it has sealed too much`() throws {
        let context = TLSContext(try ring("a"), recordsPerKeyMax: 8)
        let dialler = context.dialling()
        var wires = Wires(dialler, context.accepting())
        try wires.talk()
        for number in 0..<40 as Range<UInt8> {
            try dialler.seal([number])
            try wires.acceptor.hear(dialler.said())
            #expect(try wires.acceptor.opened() == [number])
        }
        #expect(dialler.renewals == 4)
    }
}

extension [UInt8] {
    func contains(subsequence: [UInt8]) -> Bool {
        guard count >= subsequence.count else { return false }
        return (0...(count - subsequence.count)).contains { start in
            self[start..<(start + subsequence.count)].elementsEqual(subsequence)
        }
    }
}
