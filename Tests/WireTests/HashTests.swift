import TestKit
import Testing
import Wire

struct HashTests {
    @Test func `adding hashes is commutative and associative, and subtracts back`() {
        var random = SplitMix64(seed: 1)
        for _ in 0..<10_000 {
            let (a, b, c) = (hash(&random), hash(&random), hash(&random))
            let isLawful =
                sum(a, b) == sum(b, a) && sum(sum(a, b), c) == sum(a, sum(b, c))
                && difference(sum(a, b), b) == a && sum(a, .zero) == a
            guard isLawful else {
                Issue.record("\(a) \(b) \(c)")
                return
            }
        }
    }

    @Test func `adding carries from the low half into the high half`() {
        let low = Hash128(high: 0, low: .max)
        let one = Hash128(high: 0, low: 1)
        #expect(sum(low, one) == Hash128(high: 1, low: 0))
        #expect(difference(Hash128(high: 1, low: 0), one) == low)
        #expect(sum(Hash128(high: .max, low: .max), one) == .zero)
        #expect(difference(.zero, one) == Hash128(high: .max, low: .max))
    }

    /// Values of the sanity tests of xxHash and of `xxhsum`: hashes on disks cannot change.
    @Test func `the hash is XXH3`() {
        #expect(Hash128(of: []).description == "99aa06d3014798d86001c324468d497f")
        #expect(Hash128(of: Array("a".utf8)).description == "a96faf705af16834e6c632b61e964e1f")
        #expect(Hash128(of: Array("abc".utf8)).description == "06b05ab6733a618578af5f94892f3950")
        #expect(checksum([]) == 0x2D06_8005_38D3_94C2)
        #expect(checksum(Array("a".utf8)) == 0xE6C6_32B6_1E96_4E1F)
        #expect(checksum(Array("abc".utf8)) == 0x78AF_5F94_892F_3950)
    }

    @Test func `a checksum depends on its seed and not on how the bytes are stored`() {
        var random = SplitMix64(seed: 3)
        let bytes = random.bytes(300)
        #expect(checksum(bytes, seed: 1) != checksum(bytes, seed: 2))
        #expect(checksum(bytes.lazy.map { $0 }, seed: 7) == checksum(bytes, seed: 7))
        #expect(bytes.withUnsafeBytes { checksum($0, seed: 7) } == checksum(bytes, seed: 7))
    }

    @Test func `a hash has 32 digits, also where it begins with zeros`() {
        #expect(hexadecimal(0) == "0000000000000000")
        #expect(hexadecimal(0xAB) == "00000000000000ab")
        let hash = Hash128(high: 1, low: 0x2F)
        #expect(hash.description == "0000000000000001000000000000002f")
    }

    private func hash(_ random: inout SplitMix64) -> Hash128 {
        Hash128(high: random.next(), low: random.next())
    }

    private func sum(_ left: Hash128, _ right: Hash128) -> Hash128 {
        var sum = left
        sum += right
        return sum
    }

    private func difference(_ left: Hash128, _ right: Hash128) -> Hash128 {
        var difference = left
        difference -= right
        return difference
    }
}
