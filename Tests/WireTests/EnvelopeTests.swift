import TestKit
import Testing
import Wire

@Suite struct EnvelopeTests {
    private func stream(of payloads: [[UInt8]]) -> [UInt8] {
        var writer = ByteWriter()
        for payload in payloads { writer.writeEnvelope { $0.write(raw: payload) } }
        return writer.bytes
    }

    private func cut(
        _ bytes: [UInt8], chunks: () -> Int, by cutter: inout EnvelopeCutter
    ) throws -> [[UInt8]] {
        var payloads: [[UInt8]] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            let chunk = Array(rest.prefix(max(1, chunks())))
            rest = rest.dropFirst(chunk.count)
            chunk.withUnsafeBytes { cutter.append($0) }
            while let payload = try cutter.next() { payloads.append(Array(payload)) }
        }
        return payloads
    }

    @Test func `any chunks give the same payloads`() throws {
        var random = SplitMix64(seed: 11)
        for _ in 0..<300 {
            let payloads = (0..<random.below(6)).map { _ in random.bytes(random.below(200)) }
            let bytes = stream(of: payloads)
            let size = 1 + random.below(80)
            var cutter = EnvelopeCutter()
            let found = try cut(bytes, chunks: { size }, by: &cutter)
            #expect(found == payloads)
        }
    }

    @Test func `a changed bit anywhere behind the length is noticed`() {
        let bytes = stream(of: [Array("hello".utf8)])
        for index in 4..<bytes.count {
            var damaged = bytes
            damaged[index] ^= 1
            var cutter = EnvelopeCutter()
            damaged.withUnsafeBytes { cutter.append($0) }
            #expect(throws: WireError.checksum) { try cutter.next() }
        }
    }

    @Test func `a length beyond the limit is refused before its bytes come`() {
        for limit in [0, 10, Envelope.payloadBytesMax] {
            var head = ByteWriter()
            head.write(fixed: UInt32(limit + 1))
            head.write(fixed: UInt64(0))
            var cutter = EnvelopeCutter(payloadBytesMax: limit)
            head.bytes.withUnsafeBytes { cutter.append($0) }
            #expect(throws: WireError.tooLong(count: UInt64(limit + 1), limit: limit)) {
                try cutter.next()
            }
        }
    }

    @Test func `random bytes never trap`() {
        var random = SplitMix64(seed: 12)
        for _ in 0..<100_000 {
            var cutter = EnvelopeCutter()
            var bytes = random.bytes(random.below(40))
            if random.chance(50), bytes.count > 3 { bytes.replaceSubrange(0..<3, with: [0, 0, 0]) }
            bytes.withUnsafeBytes { cutter.append($0) }
            while let payload = try? cutter.next() { #expect(payload.count < 40) }
        }
    }
}
