import CRDT
import Wire

/// What a node knows of its copy of a shard, apart from the documents.
///
/// It is stored in the same transaction as the documents that changed it, so that what the disk
/// claims is what the disk holds.
public struct ReplicaHeader: Hashable, Sendable {
    /// The seqs whose effect is in the copy.
    public internal(set) var vector = Vector()
    /// The part of the vector that lies on disk in a row of its own, which is written when it
    /// changes and not with every commit. Invariants:
    /// - It claims nothing by itself: only a header that names exactly its bytes does. A header
    ///   whose base is not there, or is another, is damaged, as if its own bytes were bad.
    /// - The row is written in the transaction of the first header that names it, and a header that
    ///   names none needs none. So the two belong together in every state of the disk.
    public private(set) var base = VectorBase()
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
    private var version = ReplicaHeader.version
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
    public func isRemaining(_ counted: ReplicaHeader) -> Bool {
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

    /// Keeps the part of the vector that each commit writes small: the whole vector becomes the
    /// base where more than `restRangesMax` ranges lie beyond the old one, or where the old one is
    /// no part of it any more.
    mutating func rebase(restRangesMax: Int) {
        let rest = vector.rest(beyond: base.vector)
        if let rest, rest.rangesCount <= restRangesMax { return }
        base = VectorBase(vector)
    }

    mutating func count(_ kind: UInt8) {
        while counts.count <= Int(kind) { counts.append(0) }
        counts[Int(kind)] += 1
    }
}

extension ReplicaHeader {
    /// The header that a row, and the row of its base, say.
    ///
    /// - Parameter base: nil where there is none, or it cannot be read.
    /// - Returns: nil where that is not the base that the header was written with: then nobody
    ///   knows what it claims.
    public static func read(_ bytes: [UInt8], base: [UInt8]?) throws(WireError) -> ReplicaHeader? {
        var reader = ByteReader(bytes)
        var (header, name) = try read(from: &reader)
        guard let name else { return header }
        guard let base, let named = VectorBase(base, named: name) else { return nil }
        header.base = named
        header.vector.formUnion(named.vector)
        return header
    }

    /// - Returns: with no more in its vector than the row has, and the name of the base that has
    ///   what is not.
    private static func read(
        from reader: inout ByteReader
    ) throws(WireError) -> (ReplicaHeader, CheckpointID?) {
        var header = ReplicaHeader(isComplete: false)
        header.version = try reader.readByte()
        guard header.version >= ReplicaHeader.version else { throw .version(header.version) }
        let name = try reader.readFlag() ? CheckpointID(bits: try reader.readFixed()) : nil
        header.vector = try Vector(from: &reader)
        header.digest = try reader.readHash()
        for _ in 0..<(try reader.readCount(limit: 256)) {
            header.counts.append(try reader.readVarint())
        }
        header.greatest = try HybridTimestamp(from: &reader)
        header.latest = try HybridTimestamp(from: &reader)
        header.isComplete = try reader.readFlag()
        header.unknown = Array(reader.readRest())
        return (header, name)
    }
}

/// The row that each commit writes.
extension ReplicaHeader: WireValue {
    /// A later version has a greater number, and writes what is new behind the rest.
    static let version: UInt8 = 1

    public func encode(into writer: inout ByteWriter) {
        writer.write(version)
        // Where the base is no part of it, it is not needed.
        let rest = base.name == nil ? nil : vector.rest(beyond: base.vector)
        writer.write(rest != nil)
        if rest != nil, let name = base.name { writer.write(fixed: name.bits) }
        (rest ?? vector).encode(into: &writer)
        writer.write(digest)
        writer.write(count: counts.count)
        for count in counts { writer.write(varint: count) }
        greatest.encode(into: &writer)
        latest.encode(into: &writer)
        writer.write(isComplete)
        writer.write(raw: unknown)
    }

    /// Of a header without a base; for one that may have one, see `read`.
    public init(from reader: inout ByteReader) throws(WireError) {
        let (header, name) = try ReplicaHeader.read(from: &reader)
        guard name == nil else { throw .invalid("a header without a base") }
        self = header
    }
}
