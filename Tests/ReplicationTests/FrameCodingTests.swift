import CRDT
import TestKit
import Testing
import Wire

@testable import Replication

/// A source of frames and headers of every kind, made from a seed.
struct FrameSource {
    var random: SplitMix64

    init(seed: UInt64) { random = SplitMix64(seed: seed) }

    mutating func vector() -> Vector {
        var vector = Vector()
        for _ in 0..<random.below(5) {
            let first = 1 + UInt64(random.below(50))
            let range = first...(first + UInt64(random.below(9)))
            vector.insert(SeqSet(range), of: RandomID(high: 0, low: UInt64(random.below(3))))
        }
        return vector
    }

    mutating func encodedDocuments() -> [EncodedDocument] {
        (0..<random.below(4)).map { _ in
            EncodedDocument(
                key: random.bytes(random.below(20)), bytes: random.bytes(random.below(90)),
                superseded: vector())
        }
    }

    mutating func claim() -> Frame.VersionClaim {
        Frame.VersionClaim(
            vector: vector(), digest: Hash128(high: random.next(), low: random.next()),
            isComplete: random.chance(50), isServing: random.chance(50))
    }

    /// - Parameter kinds: the kinds to choose from; version 2 of the wire brought 13 and 14,
    ///   version 3 brought 15.
    mutating func frame(of kinds: Range<Int> = 0..<16) -> Frame {
        let shard = ShardID(UInt16(random.below(4_096)))
        let number = random.next() >> UInt64(random.below(64))
        switch kinds.lowerBound + random.below(kinds.count) {
        case 0: return .push(shard, encodedDocuments(), cause: vector())
        case 1: return .confirm(shard, vector())
        case 2:
            return .summary(
                Frame.Summary(
                    hash: random.next(),
                    unready: (0..<random.below(5)).map { ShardID(UInt16($0 * 7)) }))
        case 3:
            return .hashes(
                (0..<random.below(70)).map {
                    Frame.ShardHash(
                        ShardID(UInt16($0 * 3)), random.next(), isServing: random.chance(50))
                })
        case 4:
            return .offer(
                Frame.Offer(shard: shard, claim: claim(), isAnswer: random.chance(50)))
        case 5: return .pull(shard, number: number, SaidVector(vector()))
        case 6: return .batch(shard, number: number, index: random.next(), encodedDocuments())
        case 7: return .done(shard, number: number, batches: random.next(), claim())
        case 8: return .broken(shard, number: number)
        case 9: return .seek(shard)
        case 10: return .absent(shard)
        case 11: return .handover(shard, mark: number, claim())
        case 12: return .accept(shard, mark: number, claim())
        case 13: return .inquiry(shard, number: number)
        case 14: return .report(shard, number: number, random.chance(50) ? claim() : nil)
        default: return .check(shard, vector())
        }
    }

    mutating func header() -> ReplicaHeader {
        ReplicaHeader(
            remaining: vector(), digest: Hash128(high: random.next(), low: random.next()),
            counts: (0..<random.below(4)).map { _ in random.next() },
            greatest: HybridTimestamp(milliseconds: UInt64(random.below(1 << 40))))
    }

    mutating func damaged(_ bytes: [UInt8]) -> [UInt8] {
        guard !bytes.isEmpty else { return bytes }
        var bytes = bytes
        for _ in 0...random.below(3) {
            bytes[random.below(bytes.count)] = UInt8(truncatingIfNeeded: random.next())
        }
        return bytes
    }
}

@Suite struct FrameCodingTests {
    @Test func `what is sent is what arrives`() throws {
        var source = FrameSource(seed: 1)
        for _ in 0..<5_000 {
            let frame = source.frame()
            #expect(try Frame.decode(frame.encoded) == frame)
        }
    }

    @Test func `what a later version puts behind a frame is passed over`() throws {
        var source = FrameSource(seed: 2)
        for _ in 0..<500 {
            let frame = source.frame()
            var reader = ByteReader(frame.encoded + [1, 2, 3])
            let read = try Frame(from: &reader)
            #expect(read == frame)
            #expect(reader.remaining == 3)
        }
    }

    @Test func `no part of a frame is a frame`() {
        var source = FrameSource(seed: 3)
        for _ in 0..<200 {
            let bytes = source.frame().encoded
            for end in bytes.indices {
                #expect(throws: WireError.self) { try Frame.decode(bytes.prefix(end)) }
            }
        }
    }

    @Test func `bytes that nobody meant never trap`() {
        var source = FrameSource(seed: 4)
        var read = 0
        for round in 0..<100_000 {
            let kind = UInt8(source.random.below(17))
            let bytes =
                round % 2 == 0
                ? [kind] + source.random.bytes(source.random.below(60))
                : source.damaged(source.frame().encoded)
            if (try? Frame.decode(bytes)) != nil { read += 1 }
        }
        #expect(read > 0)
    }

    @Test func `a kind of a later version is told from bytes that are wrong`() {
        #expect(throws: WireError.unknown) { try Frame.decode([17, 0, 0]) }
    }

    @Test func `the shard of a frame whose rest cannot be read is known`() throws {
        var source = FrameSource(seed: 8)
        for _ in 0..<1_000 {
            let frame = source.frame()
            var reader = ByteReader(frame.encoded.prefix(4) + [0xFF])
            #expect(try Frame.shard(from: &reader) == frame.shard)
        }
    }

    @Test func `the bytes are those of earlier builds`() throws {
        var source = FrameSource(seed: 5)
        let frames = (0..<80).map { _ in source.frame(of: 0..<13).encoded }
        #expect(try GoldenBytes("frame", of: frames).difference() == nil)
        let headers = (0..<20).map { _ in source.header().encoded }
        #expect(try GoldenBytes("replica-header", of: headers).difference() == nil)
        let inquiries = (0..<20).map { _ in source.frame(of: 13..<15).encoded }
        #expect(try GoldenBytes("frame-inquiry", of: inquiries).difference() == nil)
        let checks = (0..<20).map { _ in source.frame(of: 15..<16).encoded }
        #expect(try GoldenBytes("frame-check", of: checks).difference() == nil)
    }
}

@Suite struct CopyHeaderTests {
    @Test func `what is stored is what is read, unknown fields too`() throws {
        var source = FrameSource(seed: 5)
        for _ in 0..<2_000 {
            let header = source.header()
            #expect(try ReplicaHeader.decode(header.encoded) == header)
            let later = header.encoded + [9, 8, 7]
            #expect(try ReplicaHeader.decode(later).encoded == later)
        }
    }

    @Test func `a header with its base says what it said, and with no other`() throws {
        var source = FrameSource(seed: 9)
        for _ in 0..<2_000 {
            var header = source.header()
            header.rebase(restRangesMax: 0)
            guard !header.vector.isEmpty else { continue }
            let base = header.base.vector.encoded
            header.vector.formUnion(source.vector())
            let bytes = header.encoded
            #expect(try ReplicaHeader.read(bytes, base: base) == header)
            let later = bytes + [9, 8, 7]
            #expect(try ReplicaHeader.read(later, base: base)?.encoded == later)
            #expect(try ReplicaHeader.read(bytes, base: nil) == nil)
            #expect(throws: WireError.self) { try ReplicaHeader.decode(bytes) }
            let damaged = source.damaged(base)
            if damaged != base { #expect(try ReplicaHeader.read(bytes, base: damaged) == nil) }
        }
    }

    @Test func `of a thousand replicas that have ended a commit writes none`() throws {
        var source = FrameSource(seed: 10)
        var header = source.header()
        for number in UInt64(1)...1_000 {
            header.vector.insert(SeqSet(1...500), of: RandomID(high: number, low: number))
        }
        header.rebase(restRangesMax: VectorBase.restRangesMax)
        let base = header.base
        let newest = RandomID(high: 1_000, low: 1_000)
        header.vector.insert(SeqSet(1...900), of: newest)
        for number in UInt64(2_001)...2_060 {
            header.vector.insert(SeqSet(1...500), of: RandomID(high: number, low: number))
        }
        header.rebase(restRangesMax: VectorBase.restRangesMax)
        #expect(header.base == base)
        #expect(header.encoded.count < 1_500)
        #expect(try ReplicaHeader.read(header.encoded, base: base.vector.encoded) == header)
        for number in UInt64(2_061)...2_070 {
            header.vector.insert(SeqSet(1...500), of: RandomID(high: number, low: number))
        }
        header.rebase(restRangesMax: VectorBase.restRangesMax)
        #expect(header.base.vector == header.vector)
        #expect(header.encoded.count < 100)
    }

    @Test func `no part of a header is a header, and nothing traps`() {
        var source = FrameSource(seed: 6)
        for _ in 0..<100 {
            let bytes = source.header().encoded
            for end in bytes.indices {
                #expect(throws: WireError.self) { try ReplicaHeader.decode(bytes.prefix(end)) }
            }
        }
        for _ in 0..<100_000 {
            var header = source.header()
            if source.random.chance(50) { header.rebase(restRangesMax: 0) }
            let base = header.base.vector.encoded
            _ = try? ReplicaHeader.read(source.damaged(header.encoded), base: base)
        }
    }

    @Test func `the hash tells what is claimed, what is held, and whether all of it`() {
        var source = FrameSource(seed: 7)
        let header = source.header()
        var (claiming, holding, complete, later) = (header, header, header, header)
        claiming.vector.insert(Dot(replica: RandomID(high: 9, low: 9), seq: 1))
        holding.digest += Hash128(high: 0, low: 1)
        complete.isComplete = true
        later.greatest = HybridTimestamp(milliseconds: 1 << 41)
        #expect(Set([header, claiming, holding, complete].map(\.hash)).count == 4)
        #expect(header.hash == later.hash)
    }
}
