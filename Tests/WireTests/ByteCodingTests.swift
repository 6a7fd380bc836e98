import TestKit
import Testing
import Wire

/// The writer and the reader, tested against each other.
struct ByteCodingTests {
    /// Numbers around every power of two.
    private static let edges: [UInt64] = (0..<64).flatMap { (shift: UInt64) -> [UInt64] in
        let power: UInt64 = 1 << shift
        return [power - 1, power, power &+ 1, UInt64.max - power]
    }

    @Test func `a varint comes back, in its shortest form`() throws {
        for number in ByteCodingTests.edges {
            let bytes = written { $0.write(varint: number) }
            let bits = 64 - number.leadingZeroBitCount
            #expect(bytes.count == max(1, (bits + 6) / 7))
            var reader = ByteReader(bytes)
            #expect(try reader.readVarint() == number)
            #expect(reader.isAtEnd)
        }
    }

    @Test(
        arguments: [
            [0x80, 0x00], [0xFF, 0x80, 0x00],
            [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0],
            [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x02],
            [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x81, 0x00],
            [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01],
        ] as [[UInt8]])
    func `a varint that is longer than it need be, or than 64 bits, is refused`(bytes: [UInt8]) {
        #expect {
            var reader = ByteReader(bytes)
            _ = try reader.readVarint()
        } throws: { error in
            if case .invalid = error as? WireError { true } else { false }
        }
    }

    @Test func `fixed numbers come back, in byte order as the numbers are`() throws {
        for number in ByteCodingTests.edges {
            let bytes = written { $0.write(fixed: number) }
            var reader = ByteReader(bytes)
            #expect(try reader.readFixed(UInt64.self) == number)
            for other in ByteCodingTests.edges.prefix(20) {
                let isLess = bytes.lexicographicallyPrecedes(written { $0.write(fixed: other) })
                #expect(isLess == (number < other))
            }
        }
        var reader = ByteReader([0x12, 0x34, 0x56, 0x78, 0x9A, 0xBC, 0xDE])
        #expect(try reader.readFixed(UInt8.self) == 0x12)
        #expect(try reader.readFixed(UInt16.self) == 0x3456)
        #expect(try reader.readFixed(UInt32.self) == 0x789A_BCDE)
    }

    @Test(arguments: ["", "a", "e\u{301}", "\u{E9}", "\u{0}", "\u{FEFF}", "👩‍👩‍👧 שלום\n"])
    func `a text comes back byte for byte`(text: String) throws {
        var reader = ByteReader(written { $0.write(text) })
        #expect(try Array(reader.readText().utf8) == Array(text.utf8))
        #expect(reader.isAtEnd)
    }

    @Test(arguments: [[0xFF], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xE2, 0x82], [0xF5, 0, 0, 0]])
    func `a text that is not UTF-8 is refused`(bytes: [UInt8]) {
        #expect(throws: WireError.invalid("UTF-8")) {
            var reader = ByteReader(written { $0.write(bytes) })
            _ = try reader.readText()
        }
    }

    @Test func `names, identities, shards and hashes come back`() throws {
        var random = SplitMix64(seed: 7)
        for _ in 0..<500 {
            let id = RandomID(from: &random)
            let hash = Hash128(high: random.next(), low: random.next())
            let shard = ShardID(UInt16(truncatingIfNeeded: random.next()))
            let name = UserID(checked: "user-\(random.below(1_000))")
            let bytes = written {
                $0.write(id)
                $0.write(hash)
                $0.write(shard)
                $0.write(name)
                $0.write(true)
            }
            var reader = ByteReader(bytes)
            #expect(try reader.readID() == id)
            #expect(try reader.readHash() == hash)
            #expect(try reader.readShard() == shard)
            #expect(try reader.readName(UserID.self) == name)
            #expect(try reader.readFlag())
            try reader.finish()
            #expect(try UserID.decode(name.encoded) == name)
        }
    }

    @Test func `a name outside its alphabet, a flag of 2 and a shard of 65,536 are refused`() {
        #expect(throws: WireError.invalid("a name")) { try UserID.decode([1, 0x20]) }
        #expect(throws: WireError.invalid("a name")) { try UserID.decode([0]) }
        #expect(throws: WireError.tooLong(count: 65, limit: 64)) {
            try UserID.decode(written { $0.write(String(repeating: "a", count: 65)) })
        }
        #expect(throws: WireError.invalid("a flag")) {
            var reader = ByteReader([2])
            _ = try reader.readFlag()
        }
        #expect(throws: WireError.invalid("a shard")) {
            var reader = ByteReader(written { $0.write(varint: 65_536) })
            _ = try reader.readShard()
        }
    }

    @Test func `every truncation of an encoding throws`() {
        let bytes = everything
        for count in 0..<bytes.count {
            #expect(throws: WireError.truncated) { try readEverything(Array(bytes[..<count])) }
        }
        #expect(throws: Never.self) { try readEverything(bytes) }
        #expect(throws: WireError.leftover(1)) { try readEverything(bytes + [0]) }
    }

    @Test func `a count beyond its limit or beyond the bytes is refused before it is believed`() {
        let lying = written { $0.write(varint: .max) }
        #expect(throws: WireError.truncated) {
            var reader = ByteReader(written { $0.write(count: .max) })
            _ = try reader.readBytes()
        }
        #expect(throws: WireError.tooLong(count: .max, limit: 10)) {
            var reader = ByteReader(lying)
            _ = try reader.readCount(limit: 10)
        }
        #expect(throws: WireError.truncated) {
            var reader = ByteReader([1, 2])
            _ = try reader.readRaw(-1)
        }
    }

    @Test func `a slice of other bytes is read from its own start to its own end`() throws {
        var reader = ByteReader(([9, 9, 1, 2, 3, 9] as [UInt8])[2..<5])
        #expect(reader.remaining == 3)
        #expect(try reader.readByte() == 1)
        #expect(Array(reader.readRest()) == [2, 3])
        #expect(throws: WireError.truncated) { try reader.readByte() }
    }

    @Test(arguments: [0, 1, 127, 128, 129, 16_383, 16_384, 70_000])
    func `what is written counted reads as counted bytes`(count: Int) throws {
        let inner = [UInt8](repeating: 0xAB, count: count)
        let counted = written { writer in
            writer.write(UInt8(7))
            writer.writeCounted { $0.write(raw: inner) }
            writer.write(UInt8(8))
        }
        #expect(
            counted
                == written { writer in
                    writer.write(UInt8(7))
                    writer.write(inner)
                    writer.write(UInt8(8))
                })
    }

    @Test(arguments: 0...9)
    func `what is written stays as it is, wherever the memory ends`(offset: Int) {
        var expected: [UInt8] = []
        var writer = ByteWriter(reserving: offset)
        for round in 0..<600 as Range<UInt64> {
            writer.write(UInt8(truncatingIfNeeded: round))
            writer.write(fixed: round)
            writer.write(varint: 300)
            writer.write(raw: [7, 7, 7])
            expected.append(UInt8(truncatingIfNeeded: round))
            expected += withUnsafeBytes(of: round.bigEndian, Array.init)
            expected += [0xAC, 0x02, 7, 7, 7]
        }
        #expect(writer.bytes == expected)
        #expect(writer.bytes(from: 13) == Array(expected[13...]))
        #expect(writer.withUnsafeBytes { Array($0) } == expected)
    }

    @Test func `a writer that was emptied writes as one that is fresh`() {
        var writer = ByteWriter()
        writer.write("something longer than what follows")
        writer.removeAll()
        #expect(writer.count == 0)
        writer.write(varint: 5)
        #expect(writer.bytes == [5])
    }

    @Test func `what is replaced changes nothing around it`() {
        var writer = ByteWriter()
        writer.write(fixed: UInt64(0))
        writer.replace(at: 2, with: UInt32(0x0102_0304))
        writer.replace(at: 7, with: UInt8(9))
        #expect(writer.bytes == [0, 0, 1, 2, 3, 4, 0, 9])
    }

    @Test func `200,000 random byte strings never trap a reader`() {
        var random = SplitMix64(seed: 11)
        var accepted = 0
        for _ in 0..<200_000 {
            let bytes = random.bytes(random.below(12))
            accepted += (try? UserID.decode(bytes)) == nil ? 0 : 1
            var reader = ByteReader(bytes)
            // The first byte decides what is read next.
            while let byte = try? reader.readByte() {
                guard (try? read(byte % 8, from: &reader)) != nil else { break }
            }
        }
        #expect(accepted > 0)
    }

    private func written(_ body: (inout ByteWriter) -> Void) -> [UInt8] {
        var writer = ByteWriter()
        body(&writer)
        return writer.bytes
    }

    private var everything: [UInt8] {
        written {
            $0.write(varint: 300)
            $0.write(fixed: UInt32(7))
            $0.write("a text")
            $0.write(UserID(checked: "alice"))
            $0.write(RandomID(high: 1, low: 2))
            $0.write(Hash128(high: 1, low: 2))
            $0.write(ShardID(63))
            $0.write([1, 2, 3])
            $0.write(false)
        }
    }

    private func readEverything(_ bytes: [UInt8]) throws {
        var reader = ByteReader(bytes)
        _ = try reader.readVarint()
        _ = try reader.readFixed(UInt32.self)
        _ = try reader.readText()
        _ = try reader.readName(UserID.self)
        _ = try reader.readID()
        _ = try reader.readHash()
        _ = try reader.readShard()
        _ = try reader.readBytes()
        _ = try reader.readFlag()
        try reader.finish()
    }

    private func read(_ what: UInt8, from reader: inout ByteReader) throws {
        switch what {
        case 0: _ = try reader.readVarint()
        case 1: _ = try reader.readFixed(UInt16.self)
        case 2: _ = try reader.readText()
        case 3: _ = try reader.readName(NodeName.self)
        case 4: _ = try reader.readShard()
        case 5: _ = try reader.readBytes(limit: 4)
        case 6: _ = try reader.readFlag()
        default: _ = try reader.readCount()
        }
    }
}
