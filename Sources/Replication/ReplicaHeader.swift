import CRDT
import Wire

/// The metadata of a shard replica: everything except its documents.
///
/// The header is stored in the same transaction as the documents that changed it, so the disk has
/// all changes that the header claims.
public struct ReplicaHeader: Hashable, Sendable {
    /// The seqs of all changes whose effect is in the replica.
    public internal(set) var vector = Vector()
    /// The part of the vector that is stored in a row of its own, which is written only when it
    /// changes and not with every commit. Invariants:
    /// - The base claims nothing by itself: it counts only for a header that names the hash of
    ///   exactly these bytes. A header whose base is missing or different is treated as damaged.
    /// - The row of the base is written in the transaction of the first header that names the base.
    ///   Therefore header and base match in every state of the disk.
    public private(set) var base = VectorBase()
    /// The sum of the documents' digests.
    public internal(set) var digest = Hash128.zero
    /// The number of documents of each kind, tombstones included; indexed by the kind's number.
    public internal(set) var counts: [UInt64] = []
    /// The greatest time that this shard's clock has followed; the clock of the next process starts
    /// after that time.
    public internal(set) var greatest = HybridTimestamp.zero
    /// An upper bound of the times in all documents, including times that are too far ahead for the
    /// clock to follow.
    public internal(set) var latest = HybridTimestamp.zero
    /// Whether the replica has finished a pull from a complete replica, or was declared complete.
    public internal(set) var isComplete: Bool
    /// The version of the encoded header; a later version number is kept, together with the
    /// `unknown` bytes, when the header is written again.
    private var version = ReplicaHeader.version
    /// The bytes that a later version wrote after the fields that this version knows.
    private var unknown: [UInt8] = []

    public init(isComplete: Bool) { self.isComplete = isComplete }

    /// Creates the header of the documents that remain after damaged documents were set aside; the
    /// header is incomplete until a pull from a complete replica has finished.
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

    /// Restores the greatest time that the clock had followed before documents were set aside.
    ///
    /// A time from the documents that is too far in the future is replaced by `stamp`.
    public mutating func raise(to stamp: HybridTimestamp, at wall: WallTime) {
        let isFollowed = wall.believes(greatest) || stamp == .zero
        greatest = isFollowed ? max(greatest, stamp) : stamp
    }

    /// Whether a recount of the documents on disk found all documents that this header counts.
    public func isRemaining(_ counted: ReplicaHeader) -> Bool {
        digest == counted.digest && documents == counted.documents
            && vector.covers(counted.vector)
    }

    public func count(ofKind kind: UInt8) -> UInt64 {
        Int(kind) < counts.count ? counts[Int(kind)] : 0
    }

    public var documents: UInt64 { counts.reduce(0, +) }

    /// A hash that is equal for replicas with the same vector, digest and completeness.
    public var hash: UInt64 {
        var writer = ByteWriter(reserving: 64)
        vector.encode(into: &writer)
        writer.write(digest)
        writer.write(isComplete)
        return writer.withUnsafeBytes { checksum($0) }
    }

    /// Makes the whole vector the new base if more than `restRangesMax` ranges lie beyond the old
    /// base, or if the vector does not contain the old base; so each commit writes only a small
    /// part of the vector.
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
    /// Reads a header from its row and the row of its base.
    ///
    /// - Parameter base: nil if the base row is missing or unreadable.
    /// - Returns: nil if the base row is not the base that the header names; the header's vector is
    ///   then unknown.
    public static func read(_ bytes: [UInt8], base: [UInt8]?) throws(WireError) -> ReplicaHeader? {
        var reader = ByteReader(bytes)
        var (header, name) = try read(from: &reader)
        guard let name else { return header }
        guard let base, let named = VectorBase(base, named: name) else { return nil }
        header.base = named
        header.vector.formUnion(named.vector)
        return header
    }

    /// - Returns: the header with only the part of the vector that is in the header's row, and the
    ///   name of the base that contains the other part.
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

/// The wire format of the row that is written with each commit.
extension ReplicaHeader: WireValue {
    /// The version of the format; a later version has a greater number and appends its new fields.
    static let version: UInt8 = 1

    public func encode(into writer: inout ByteWriter) {
        writer.write(version)
        // A vector that does not contain its base is written whole.
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

    /// Reads a header without a base; `read` also accepts a header with a base.
    public init(from reader: inout ByteReader) throws(WireError) {
        let (header, name) = try ReplicaHeader.read(from: &reader)
        guard name == nil else { throw .invalid("a header without a base") }
        self = header
    }
}
