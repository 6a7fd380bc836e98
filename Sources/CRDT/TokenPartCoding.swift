import Wire

extension Token.Part {
    /// - Parameter prefixes: the token's prefixes, ascending; an entry contains the index of its
    ///   prefix.
    func encodeEntries(of prefixes: [UInt32], into writer: inout ByteWriter) {
        writer.write(
            varint: UInt64(entries.count) << 2 | (checkpoint == nil ? 0 : 2) | (isWhole ? 1 : 0))
        if let checkpoint { writer.write(fixed: checkpoint) }
        var index = 0
        var next = 0
        for entry in entries {
            while prefixes[index] != entry.prefix { index += 1 }
            entry.encodeSeqs(at: index - next, into: &writer)
            next = index + 1
        }
    }

    /// - Parameter prefixes: the token's prefixes; nil if each entry contains its own prefix.
    init(
        _ shard: ShardID, of prefixes: [UInt32]?, from reader: inout ByteReader
    ) throws(WireError) {
        let count = try reader.readVarint()
        var entries: [Token.Entry] = []
        guard count >> 2 <= UInt64(reader.remaining) else { throw .truncated }
        let checkpoint: UInt32? = count & 2 == 2 ? try reader.readFixed() : nil
        var rest = prefixes?[...]
        for _ in 0..<(count >> 2) {
            let entry: Token.Entry
            if rest != nil {
                entry = try Token.Entry(of: &rest, from: &reader)
            } else {
                entry = try Token.Entry(withPrefixFrom: &reader)
            }
            if let last = entries.last, last.prefix >= entry.prefix {
                throw .invalid("replicas that ascend")
            }
            entries.append(entry)
        }
        self.init(
            shard: shard, checkpoint: checkpoint, entries: entries, isWhole: count & 1 == 1)
    }
}

extension Token.Entry {
    /// The last seq if the set is one range from 1, as nearly all sets are; otherwise nil.
    private var end: UInt64? {
        guard seqs.ranges.count == 1, seqs.ranges[0].lowerBound == 1 else { return nil }
        return seqs.ranges[0].upperBound
    }

    /// Writes the number of prefixes skipped before the entry's prefix, then the seqs.
    func encodeSeqs(at step: Int, into writer: inout ByteWriter) {
        writer.write(varint: UInt64(step) << 1 | (end == nil ? 1 : 0))
        if let end { writer.write(varint: end) } else { seqs.encode(into: &writer) }
    }

    /// The size of the encoded seqs, in bytes.
    var bytes: Int { end.map(varintBytes) ?? seqs.encoded.count }

    init(
        of prefixes: inout ArraySlice<UInt32>?, from reader: inout ByteReader
    ) throws(WireError) {
        let head = try reader.readVarint()
        guard let rest = prefixes, head >> 1 < UInt64(rest.count) else {
            throw .invalid("a token's prefix")
        }
        let index = rest.startIndex + Int(head >> 1)
        prefixes = rest[(index + 1)...]
        guard head & 1 == 1 else {
            let end = try reader.readVarint()
            guard end > 0 else { throw .invalid("seqs from 1") }
            self.init(prefix: rest[index], seqs: SeqSet(1...end))
            return
        }
        self.init(prefix: rest[index], seqs: try Token.Entry.readSeqs(from: &reader))
        guard end == nil else { throw .invalid("a shortest set of seqs") }
    }

    init(withPrefixFrom reader: inout ByteReader) throws(WireError) {
        self.init(
            prefix: try reader.readFixed(), seqs: try Token.Entry.readSeqs(from: &reader))
    }

    private static func readSeqs(from reader: inout ByteReader) throws(WireError) -> SeqSet {
        let seqs = try SeqSet(from: &reader)
        guard let first = seqs.ranges.first, first.lowerBound > 0 else {
            throw .invalid("seqs from 1")
        }
        return seqs
    }
}

/// Returns the size of an encoded number, in bytes.
func varintBytes(_ number: UInt64) -> Int {
    max(1, (64 - number.leadingZeroBitCount + 6) / 7)
}
