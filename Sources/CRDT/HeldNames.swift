import Wire

/// The names of the latest `countMax` version vectors that a replica of a shard has had.
///
/// A `CheckpointHistory` keeps a few whole vectors, so that a token can be compared with any
/// replica. A list of held names keeps only names, which claim more: when a name was added, the
/// replica's disk had every change of the named vector. A replica's vector only grows, so the claim
/// holds until the replica loses changes; then all names have to be removed in the same commit.
///
/// A vector's name has 32 bits. The name of any other vector equals one of the `countMax` names
/// with a probability of 1 / 2^20.
public struct HeldNames: Hashable, Sendable {
    /// The names in the order of their addition, in a ring of `chunkCount` chunks; the oldest chunk
    /// is emptied when the latest is full.
    private var chunks: [[UInt32]] = []
    /// The number of names that were ever added, which determines the place of the next name.
    private var added: UInt64 = 0

    /// The greatest number of names: one for each of the process starts of three nodes over three
    /// years of daily restarts, or for each second of an hour of writes.
    public static let countMax = 4_096
    static let chunkCount = 16
    static let chunkMax = countMax / chunkCount

    public init() {}

    func contains(_ short: UInt32) -> Bool { chunks.contains { $0.contains(short) } }

    /// Adds the name of the replica's present vector.
    ///
    /// - Returns: the index of the changed chunk; nil if the list already contains the name.
    public mutating func insert(_ id: CheckpointID) -> Int? {
        guard !contains(id.short) else { return nil }
        let index = Int(added / UInt64(HeldNames.chunkMax) % UInt64(HeldNames.chunkCount))
        grow(to: index)
        let isFirst = added.isMultiple(of: UInt64(HeldNames.chunkMax))
        if isFirst || chunks[index].count >= HeldNames.chunkMax { chunks[index] = [] }
        chunks[index].append(id.short)
        added += 1
        return index
    }

    private mutating func grow(to index: Int) {
        while chunks.count <= index { chunks.append([]) }
    }

    // MARK: Disk

    /// The indices of all chunks that may be on disk.
    public var chunkIndices: Range<Int> { chunks.indices }

    /// Returns the encoded bytes of a chunk, about 1 KiB at most.
    public func encodedChunk(_ index: Int) -> [UInt8] {
        var writer = ByteWriter()
        writer.write(varint: added)
        writer.write(count: chunks[index].count)
        for short in chunks[index] { writer.write(fixed: short) }
        return writer.bytes
    }

    /// Reads a chunk that was stored.
    ///
    /// Chunks are stored at different times, so a name may be in two chunks, and a chunk may be
    /// older than the ring's position.
    public mutating func load(_ bytes: [UInt8], at index: Int) throws(WireError) {
        var reader = ByteReader(bytes)
        added = max(added, try reader.readVarint())
        var names: [UInt32] = []
        for _ in 0..<(try reader.readCount(limit: HeldNames.chunkMax)) {
            names.append(try reader.readFixed())
        }
        try reader.finish()
        guard (0..<HeldNames.chunkCount).contains(index) else { throw .invalid("a chunk of names") }
        grow(to: index)
        chunks[index] = names
    }
}
