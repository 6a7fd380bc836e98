import TestKit
import Testing
import Wire

@testable import CRDT

/// Bytes from a socket or a disk, decoded as every type of this target.
struct DecodingTests {
    private typealias Read = @Sendable ([UInt8]) -> [UInt8]?

    private static let readers: [Read] = [
        { try? Dot.decode($0).encoded }, { try? Context.decode($0).encoded },
        { try? SeqSet.decode($0).encoded }, { try? Vector.decode($0).encoded },
        { try? HybridTimestamp.decode($0).encoded }, { try? Stamp.decode($0).encoded },
        { try? MaxRegister<HybridTimestamp>.decode($0).encoded },
        { try? Register<UserID>.decode($0).encoded },
        { try? ObservedRemoveSet<UserID>.decode($0).encoded },
    ]

    @Test func `200,000 random byte strings never trap, and what is read is canonical`() throws {
        var random = SplitMix64(seed: 21)
        var accepted = 0
        for number in 0..<200_000 {
            // Small bytes make plausible counts.
            var bytes = random.bytes(random.below(24))
            if random.chance(50) { bytes = bytes.map { $0 % 3 } }
            // Each input is decoded as two types: every type gets 44,000 of them.
            for index in [number % 9, (number + 4) % 9] {
                guard let again = DecodingTests.readers[index](bytes) else { continue }
                try #require(again == bytes, "type \(index)")
                accepted += 1
            }
        }
        #expect(accepted > 1_000)
    }
}
