import CRDT
import Wire

/// What a node knows of its copy of a shard, apart from the documents.
///
/// It is stored in the same transaction as the documents that changed it, so that what the disk
/// claims is what the disk holds.
public struct CopyHeader: Hashable, Sendable {
    /// The seqs whose effect is in the copy.
    public internal(set) var vector = Vector()
    /// The sum of the documents' digests.
    public internal(set) var digest = Hash128.zero
    /// How many documents there are of each kind, tombstones too; indexed by the kind's number.
    public internal(set) var counts: [UInt64] = []
    /// The greatest stamp that the clock followed: that of the next process starts behind it.
    public internal(set) var greatest = HybridTimestamp.zero
    /// No time in a document is greater; unlike `greatest`, it counts what no clock follows.
    public internal(set) var latest = HybridTimestamp.zero
    /// Whether it has had `done` from a complete copy, or was there from the beginning.
    public internal(set) var isComplete: Bool
    /// Of its bytes: a later version's stays, for what it writes is kept, too.
    private var version = CopyHeader.version
    /// What a later version wrote behind the rest.
    private var unknown: [UInt8] = []

    public init(isComplete: Bool) { self.isComplete = isComplete }

    /// What remains of a copy when documents are set aside: not complete until a peer says so.
    ///
    /// - Parameter vector: the seqs that the remaining documents name, and no others.
    public init(
        remaining vector: Vector, digest: Hash128, counts: [UInt64], greatest: HybridTimestamp
    ) {
        self.init(isComplete: false)
        self.vector = vector
        self.digest = digest
        self.counts = counts
        self.greatest = greatest
        latest = greatest
    }

    /// Keeps the greatest stamp that the clock followed, whatever is left of the documents.
    ///
    /// One of theirs that is not believed does not take its place.
    public mutating func raise(to stamp: HybridTimestamp, at wall: WallTime) {
        let isFollowed = wall.believes(greatest) || stamp == .zero
        greatest = isFollowed ? max(greatest, stamp) : stamp
    }

    /// Whether the documents that were counted anew are all that this one counts.
    public func isRemaining(_ counted: CopyHeader) -> Bool {
        digest == counted.digest && documents == counted.documents
            && vector.covers(counted.vector)
    }

    public func count(ofKind kind: UInt8) -> UInt64 {
        Int(kind) < counts.count ? counts[Int(kind)] : 0
    }

    public var documents: UInt64 { counts.reduce(0, +) }

    /// Equal for copies that claim the same, hold the same and are complete alike.
    public var hash: UInt64 {
        var writer = ByteWriter(reserving: 64)
        vector.encode(into: &writer)
        writer.write(digest)
        writer.write(isComplete)
        return writer.withUnsafeBytes { checksum($0) }
    }

    mutating func count(_ kind: UInt8) {
        while counts.count <= Int(kind) { counts.append(0) }
        counts[Int(kind)] += 1
    }
}

extension CopyHeader: WireValue {
    /// A later version has a greater number, and writes what is new behind the rest.
    static let version: UInt8 = 1

    public func encode(into writer: inout ByteWriter) {
        writer.write(version)
        vector.encode(into: &writer)
        writer.write(digest)
        writer.write(count: counts.count)
        for count in counts { writer.write(varint: count) }
        greatest.encode(into: &writer)
        latest.encode(into: &writer)
        writer.write(isComplete)
        writer.write(raw: unknown)
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        version = try reader.readByte()
        guard version >= CopyHeader.version else { throw .version(version) }
        vector = try Vector(from: &reader)
        digest = try reader.readHash()
        for _ in 0..<(try reader.readCount(limit: 256)) { counts.append(try reader.readVarint()) }
        greatest = try HybridTimestamp(from: &reader)
        latest = try HybridTimestamp(from: &reader)
        isComplete = try reader.readFlag()
        unknown = Array(reader.readRest())
    }
}
