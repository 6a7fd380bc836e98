import CRDT
import Wire

/// The wire format: one byte for the kind of the frame, then the values of that kind; a reader
/// ignores bytes that a later version appends.
extension Frame: WireValue {
    private enum Kind {
        static let push: UInt8 = 1
        static let confirm: UInt8 = 2
        static let summary: UInt8 = 3
        static let hashes: UInt8 = 4
        static let offer: UInt8 = 5
        static let pull: UInt8 = 6
        static let batch: UInt8 = 7
        static let done: UInt8 = 8
        static let broken: UInt8 = 9
        static let seek: UInt8 = 10
        static let absent: UInt8 = 11
        static let handover: UInt8 = 12
        static let accept: UInt8 = 13
        static let inquiry: UInt8 = 14
        static let report: UInt8 = 15
        static let check: UInt8 = 16
    }

    public func encode(into writer: inout ByteWriter) {
        switch self {
        case .push(let shard, let encodedDocuments, let cause):
            writer.write(Kind.push)
            writer.write(shard)
            encodedDocuments.encode(into: &writer)
            cause.encodeShared(into: &writer)
        case .confirm(let shard, let vector):
            writer.write(Kind.confirm)
            writer.write(shard)
            vector.encodeShared(into: &writer)
        case .check(let shard, let vector):
            writer.write(Kind.check)
            writer.write(shard)
            vector.encodeShared(into: &writer)
        case .summary(let summary):
            writer.write(Kind.summary)
            summary.encode(into: &writer)
        case .hashes(let hashes):
            writer.write(Kind.hashes)
            hashes.encode(into: &writer)
        case .offer(let offer):
            writer.write(Kind.offer)
            offer.encode(into: &writer)
        case .pull, .batch, .done, .broken:
            encodePull(into: &writer)
        case .seek, .absent, .handover, .accept, .inquiry, .report:
            encodeMove(into: &writer)
        }
    }

    private func encodeMove(into writer: inout ByteWriter) {
        switch self {
        case .seek(let shard):
            writer.write(Kind.seek)
            writer.write(shard)
        case .absent(let shard):
            writer.write(Kind.absent)
            writer.write(shard)
        case .handover(let shard, let mark, let claim):
            writer.write(Kind.handover)
            writer.write(shard)
            writer.write(varint: mark)
            claim.encode(into: &writer)
        case .accept(let shard, let mark, let claim):
            writer.write(Kind.accept)
            writer.write(shard)
            writer.write(varint: mark)
            claim.encode(into: &writer)
        case .inquiry(let shard, let number):
            writer.write(Kind.inquiry)
            writer.write(shard)
            writer.write(varint: number)
        case .report(let shard, let number, let claim):
            writer.write(Kind.report)
            writer.write(shard)
            writer.write(varint: number)
            claim.encode(into: &writer)
        default:
            break
        }
    }

    private func encodePull(into writer: inout ByteWriter) {
        func head(_ kind: UInt8, _ shard: ShardID, _ number: UInt64) {
            writer.write(kind)
            writer.write(shard)
            writer.write(varint: number)
        }
        switch self {
        case .pull(let shard, let number, let vector):
            head(Kind.pull, shard, number)
            vector.encode(into: &writer)
        case .batch(let shard, let number, let index, let encodedDocuments):
            head(Kind.batch, shard, number)
            writer.write(varint: index)
            encodedDocuments.encode(into: &writer)
        case .done(let shard, let number, let batches, let claim):
            head(Kind.done, shard, number)
            writer.write(varint: batches)
            claim.encode(into: &writer)
        case .broken(let shard, let number):
            head(Kind.broken, shard, number)
        default:
            break
        }
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        let kind = try reader.readByte()
        switch kind {
        case Kind.push:
            self = .push(
                try reader.readShard(), try reader.readList(),
                cause: try Vector(sharedFrom: &reader))
        case Kind.confirm:
            self = .confirm(try reader.readShard(), try Vector(sharedFrom: &reader))
        case Kind.summary:
            self = .summary(try Summary(from: &reader))
        case Kind.hashes:
            let hashes: [ShardHash] = try reader.readList(limit: Int(UInt16.max))
            self = .hashes(try hashes.ascending("shards", by: \.shard))
        case Kind.offer:
            self = .offer(try Offer(from: &reader))
        case Kind.pull...Kind.broken:
            self = try Frame(pull: kind, from: &reader)
        case Kind.seek...Kind.report:
            self = try Frame(move: kind, from: &reader)
        case Kind.check:
            self = .check(try reader.readShard(), try Vector(sharedFrom: &reader))
        default:
            throw .unknown
        }
    }

    /// Returns the shard of a frame whose remaining bytes cannot be read; nil for kinds without a
    /// leading shard.
    public static func shard(from reader: inout ByteReader) throws(WireError) -> ShardID? {
        switch try reader.readByte() {
        case Kind.push, Kind.confirm, Kind.offer, Kind.pull...Kind.check: try reader.readShard()
        default: nil
        }
    }

    private init(move kind: UInt8, from reader: inout ByteReader) throws(WireError) {
        let shard = try reader.readShard()
        switch kind {
        case Kind.seek: self = .seek(shard)
        case Kind.absent: self = .absent(shard)
        case Kind.handover:
            let mark = try reader.readVarint()
            self = .handover(shard, mark: mark, try VersionClaim(from: &reader))
        case Kind.inquiry:
            self = .inquiry(shard, number: try reader.readVarint())
        case Kind.report:
            let number = try reader.readVarint()
            self = .report(shard, number: number, try Optional(from: &reader))
        default:
            let mark = try reader.readVarint()
            self = .accept(shard, mark: mark, try VersionClaim(from: &reader))
        }
    }

    private init(pull kind: UInt8, from reader: inout ByteReader) throws(WireError) {
        let shard = try reader.readShard()
        let number = try reader.readVarint()
        switch kind {
        case Kind.pull:
            self = .pull(shard, number: number, try SaidVector(from: &reader))
        case Kind.batch:
            let index = try reader.readVarint()
            self = .batch(shard, number: number, index: index, try reader.readList())
        case Kind.done:
            let batches = try reader.readVarint()
            self = .done(shard, number: number, batches: batches, try VersionClaim(from: &reader))
        default:
            self = .broken(shard, number: number)
        }
    }
}

extension Frame.Summary: WireValue {
    public func encode(into writer: inout ByteWriter) {
        writer.write(fixed: hash)
        unready.encode(into: &writer)
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        hash = try reader.readFixed()
        unready = try reader.readList(limit: Int(UInt16.max))
    }
}

extension Frame.VersionClaim: WireValue {
    public func encode(into writer: inout ByteWriter) {
        said.encode(into: &writer)
        writer.write(digest)
        writer.write(isComplete)
        writer.write(isServing)
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        said = try SaidVector(from: &reader)
        digest = try reader.readHash()
        isComplete = try reader.readFlag()
        isServing = try reader.readFlag()
    }
}

extension Frame.Offer: WireValue {
    public func encode(into writer: inout ByteWriter) {
        writer.write(shard)
        claim.encode(into: &writer)
        writer.write(isAnswer)
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        shard = try reader.readShard()
        claim = try Frame.VersionClaim(from: &reader)
        isAnswer = try reader.readFlag()
    }
}

extension Frame.ShardHash: WireValue {
    public func encode(into writer: inout ByteWriter) {
        writer.write(shard)
        writer.write(fixed: hash)
        writer.write(isServing)
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        shard = try reader.readShard()
        hash = try reader.readFixed()
        isServing = try reader.readFlag()
    }
}
