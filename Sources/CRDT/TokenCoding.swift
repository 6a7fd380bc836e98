import Wire

extension Token {
    /// The version of the token format that this program writes.
    private static let version: UInt8 = 2
    /// The earlier version, which can still be read; each of its entries contains its prefix.
    private static let versionOfPrefixes: UInt8 = 1
    /// The size in bytes of a token's fixed part: version, cluster, `isRounded`, five counts of at
    /// most two bytes, and the clock.
    private static let headBytes = 1 + 4 + 1 + 5 * 2 + 8
    private static let checksumBytes = 4
    /// The bytes that are available for prefixes, parts, names, unsettled operations and sums.
    static let bodyBytesMax = bodyBytes(ofText: textBytesMax)
    /// The greatest number of parts and of names: the greatest number of shards.
    private static let shardsMax = 4_096
    /// The greatest number of prefixes that fit in a token.
    private static let prefixesMax = bodyBytesMax / Token.prefixBytes
    static let prefixBytes = 4

    /// Returns the number of bytes that a text of this length leaves for fields of variable size.
    static func bodyBytes(ofText bytes: Int) -> Int { bytes * 6 / 8 - headBytes - checksumBytes }

    /// The token as a text for clients: at most `textBytesMax` letters, digits, `-` and `_`.
    public var text: String { Base64.encode(encoded) }

    /// - Throws: `WireError` for a text that is not a token.
    public init(text: String) throws(WireError) {
        guard text.utf8.count <= Token.textBytesMax else {
            throw .tooLong(count: UInt64(text.utf8.count), limit: Token.textBytesMax)
        }
        guard let bytes = Base64.decode(text) else { throw .invalid("a token") }
        self = try Token.decode(bytes)
    }
}

extension Token: WireValue {
    public func encode(into writer: inout ByteWriter) {
        var body = ByteWriter()
        body.write(Token.version)
        body.write(fixed: cluster)
        body.write(isRounded)
        clock.encode(into: &body)
        unsettled.encode(into: &body)
        Token.encode(sums, into: &body)
        let prefixes = usedPrefixes.sorted()
        body.write(count: prefixes.count)
        for prefix in prefixes { body.write(fixed: prefix) }
        Token.encode(parts, of: prefixes, into: &body)
        body.write(count: names.count)
        var last: UInt16 = 0
        for name in names {
            body.write(varint: UInt64(name.shard.number - last))
            last = name.shard.number
            body.write(fixed: name.short)
        }
        Token.encode(passed, of: prefixes, into: &body)
        Token.encode(targets, of: prefixes, into: &body)
        body.withUnsafeBytes {
            writer.write(raw: $0)
            writer.write(fixed: UInt32(truncatingIfNeeded: checksum($0)))
        }
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        var whole = reader
        let version = try reader.readByte()
        guard version == Token.version || version == Token.versionOfPrefixes else {
            throw .version(version)
        }
        cluster = try reader.readFixed()
        isRounded = try reader.readFlag()
        clock = try HybridTimestamp(from: &reader)
        unsettled = try Unsettled(from: &reader)
        sums = try Token.readSums(from: &reader)
        let prefixes = version == Token.version ? try Token.readPrefixes(from: &reader) : nil
        parts = try Token.readParts(of: prefixes, from: &reader)
        var names: [Name] = []
        for _ in 0..<(try reader.readCount(limit: Token.shardsMax)) {
            let shard = try reader.readShard(after: names.last?.shard)
            names.append(Name(shard: shard, short: try reader.readFixed()))
        }
        self.names = names
        passed = prefixes == nil ? [] : try Token.readParts(of: prefixes, from: &reader)
        targets = prefixes == nil ? [] : try Token.readParts(of: prefixes, from: &reader)
        let body = try whole.readRaw(whole.remaining - reader.remaining)
        let sum: UInt32 = try reader.readFixed()
        guard UInt32(truncatingIfNeeded: checksum(body)) == sum else { throw .checksum }
        // Each token has exactly one encoding, so a prefix that no entry uses is an error.
        guard prefixes.map({ $0.count == usedPrefixes.count }) ?? true else {
            throw .invalid("prefixes that are used")
        }
    }

    private var usedPrefixes: Set<UInt32> {
        Set((parts + passed + targets).flatMap { $0.entries.map(\.prefix) })
    }

    private static func encode(
        _ parts: [Part], of prefixes: [UInt32], into writer: inout ByteWriter
    ) {
        writer.write(count: parts.count)
        var last: UInt16 = 0
        for part in parts {
            writer.write(varint: UInt64(part.shard.number - last))
            last = part.shard.number
            part.encodeEntries(of: prefixes, into: &writer)
        }
    }

    /// - Parameter prefixes: the token's prefixes; nil if each entry contains its own prefix.
    private static func readParts(
        of prefixes: [UInt32]?, from reader: inout ByteReader
    ) throws(WireError) -> [Part] {
        var parts: [Part] = []
        for _ in 0..<(try reader.readCount(limit: shardsMax)) {
            let shard = try reader.readShard(after: parts.last?.shard)
            parts.append(try Part(shard, of: prefixes, from: &reader))
        }
        return parts
    }

    private static func readPrefixes(from reader: inout ByteReader) throws(WireError) -> [UInt32] {
        var prefixes: [UInt32] = []
        for _ in 0..<(try reader.readCount(limit: prefixesMax)) {
            let prefix: UInt32 = try reader.readFixed()
            if let last = prefixes.last, last >= prefix { throw .invalid("prefixes that ascend") }
            prefixes.append(prefix)
        }
        return prefixes
    }
}

extension Token {
    /// Writes the number of sums, a bit mask of the nonzero sums, and the nonzero sums.
    private static func encode(_ sums: [UInt32], into writer: inout ByteWriter) {
        writer.write(UInt8(sums.count))
        guard !sums.isEmpty else { return }
        let mask = sums.indices.reduce(UInt8(0)) { sums[$1] == 0 ? $0 : $0 | 1 << $1 }
        writer.write(mask)
        for sum in sums where sum != 0 { writer.write(fixed: sum) }
    }

    private static func readSums(from reader: inout ByteReader) throws(WireError) -> [UInt32] {
        let count = try reader.readByte()
        guard count <= sumsMax else { throw .tooLong(count: UInt64(count), limit: sumsMax) }
        let mask = count > 0 ? try reader.readByte() : 0
        var sums: [UInt32] = []
        for index in 0..<count {
            sums.append(mask >> index & 1 == 0 ? 0 : try reader.readFixed())
        }
        return sums
    }

    /// Returns the greatest size of `count` encoded sums, in bytes.
    static func bytesMax(ofSums count: Int) -> Int { 2 + 4 * count }
}

extension ByteReader {
    /// Reads the number of a shard, encoded as the difference to the previous shard's number.
    mutating func readShard(after last: ShardID?) throws(WireError) -> ShardID {
        let step = try readVarint()
        let (number, overflowed) = UInt64(last?.number ?? 0).addingReportingOverflow(step)
        guard !overflowed, step > 0 || last == nil, let number = UInt16(exactly: number) else {
            throw .invalid("shards that ascend")
        }
        return ShardID(number)
    }
}
