import TestKit
import Testing
import Wire

@testable import CRDT

struct HeldNamesTests {
    private static func ids(_ count: Int, _ random: inout SplitMix64) -> [CheckpointID] {
        (0..<count).map { _ in CheckpointID(bits: random.next()) }
    }

    @Test func `the latest names stay, whatever was added before`() {
        var random = SplitMix64(seed: 1)
        var names = HeldNames()
        let ids = HeldNamesTests.ids(HeldNames.countMax + HeldNames.chunkMax / 2, &random)
        for id in ids { #expect(names.insert(id) != nil) }
        #expect(ids.suffix(100).allSatisfy { names.insert($0) == nil })
        let kept = HeldNames.countMax - HeldNames.chunkMax
        #expect(ids.suffix(kept).allSatisfy { names.contains($0.short) })
        #expect(ids.count { names.contains($0.short) } <= HeldNames.countMax)
    }

    /// Chunks are stored when their turn comes, so what a disk has of two of them differs in age.
    @Test(arguments: 0..<4 as Range<UInt64>)
    func `names that were stored are read, whenever their chunks were`(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        var names = HeldNames()
        var disk: [Int: [UInt8]] = [:]
        var dirty: Set<Int> = []
        var added: Set<UInt32> = []
        for _ in 0..<5 {
            for id in HeldNamesTests.ids(random.below(700), &random) {
                if let chunk = names.insert(id) { dirty.insert(chunk) }
                added.insert(id.short)
                guard random.below(300) == 0, let chunk = dirty.min() else { continue }
                dirty.remove(chunk)
                disk[chunk] = names.encodedChunk(chunk)
            }
            if random.below(2) == 0 {
                for chunk in dirty { disk[chunk] = names.encodedChunk(chunk) }
            }
            dirty = []
            names = HeldNames()
            for (chunk, bytes) in disk { try names.load(bytes, at: chunk) }
            for (chunk, bytes) in disk {
                #expect(bytes.count <= 4 * HeldNames.chunkMax + 12)
                var read = HeldNames()
                try read.load(bytes, at: chunk)
                #expect(names.encodedChunk(chunk).suffix(8) == bytes.suffix(8))
            }
        }
        let others = HeldNamesTests.ids(1_000, &random)
        #expect(!others.contains { names.contains($0.short) && !added.contains($0.short) })
    }

    @Test(arguments: [[], [1], [1, 2, 0, 0], [0, 0x81, 0x02], [0, 0, 9]] as [[UInt8]])
    func `bytes that are no chunk are refused`(bytes: [UInt8]) {
        var names = HeldNames()
        #expect(throws: WireError.self) { try names.load(bytes, at: 0) }
        #expect(throws: WireError.self) { try names.load([0, 0], at: HeldNames.chunkCount) }
    }
}
