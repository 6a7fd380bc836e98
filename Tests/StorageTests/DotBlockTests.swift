import CRDT
import Chat
import TestKit
import Testing
import Wire

@testable import Storage

@Suite struct DotBlockTests {
    private func place(_ number: Int) -> DotPlace {
        DotPlace(
            key: .message(Chats.message(number), in: Chats.conversation(1)),
            time: HybridTimestamp(milliseconds: UInt64(number)))
    }

    private func encoded(_ block: DotBlock) -> [UInt8] {
        var writer = ByteWriter()
        block.encode(into: &writer)
        return writer.bytes
    }

    @Test func `a block says of each seq what was said last, and is read as it was written`() {
        var generator = SeededGenerator(seed: 5)
        for number in [0, 1, 77, Int64(Int64.max) / 16] {
            var block = DotBlock(number)
            var model: [UInt64: DotPlace] = [:]
            for step in 0..<200 {
                let offset = UInt64.random(in: 0..<DotBlock.seqsCount, using: &generator)
                let seq = UInt64(number) * DotBlock.seqsCount + offset
                #expect(DotBlock.number(of: seq) == number && seq <= block.last)
                let said = Bool.random(using: &generator) ? place(step) : nil
                block.set(said, at: seq)
                model[seq] = said
                #expect(block.places.map(\.seq) == model.keys.sorted())
                #expect(block.places.allSatisfy { model[$0.seq] == $0.place })
                #expect(DotBlock(number, decoding: encoded(block)) == block)
            }
        }
    }

    @Test func `bytes that are damaged are no block, and trap nobody`() {
        var block = DotBlock(3)
        for seq in 48..<64 { block.set(place(seq), at: UInt64(seq)) }
        let bytes = encoded(block)
        for count in bytes.indices {
            #expect(DotBlock(3, decoding: Array(bytes[..<count])) == nil)
        }
        var generator = SeededGenerator(seed: 6)
        for _ in 0..<2_000 {
            var spoilt = bytes
            spoilt[Int.random(in: 0..<bytes.count, using: &generator)] ^= 0x55
            let read = DotBlock(3, decoding: spoilt)
            #expect(read?.places.allSatisfy { (48..<64).contains($0.seq) } ?? true)
            #expect(DotBlock(-1, decoding: spoilt) == nil)
        }
    }

    @Test func `the bytes are those of earlier builds`() throws {
        let blocks = [[50], [48, 49, 50, 63], Array(48..<64)].map { seqs in
            var block = DotBlock(3)
            for seq in seqs { block.set(place(seq), at: UInt64(seq)) }
            return encoded(block)
        }
        #expect(try GoldenBytes("dot-block", of: blocks).difference() == nil)
    }
}
