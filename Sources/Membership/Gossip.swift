import Wire

/// The messages of the membership protocol.
///
/// The version of their format is negotiated by the connection that carries them.
public enum Gossip: Hashable, Sendable {
    /// Asks for an ack; carries the hash of the sender's table, and entries to merge, of which this
    /// version sends none.
    case ping(number: UInt64, tableHash: UInt64, [MemberEntry])
    case ack(number: UInt64, tableHash: UInt64, [MemberEntry])
    /// Asks whether the receiver hears this member; the sender does not, so this is an accusation
    /// too.
    case probe(number: UInt64, of: NodeName)
    /// Reports that the member has been heard since the probe.
    case heard(number: UInt64, of: NodeName)
    case updates([MemberEntry])
    case table(MemberTable)

    /// The greatest number of entries in a message other than `table`: half a table.
    public static let entriesMax = 128
}

extension Gossip: WireValue {
    private enum Kind {
        static let ping: UInt8 = 1
        static let ack: UInt8 = 2
        static let probe: UInt8 = 3
        static let heard: UInt8 = 4
        static let updates: UInt8 = 5
        static let table: UInt8 = 6
    }

    public func encode(into writer: inout ByteWriter) {
        switch self {
        case .ping(let number, let hash, let entries):
            write(Kind.ping, number, hash, entries, into: &writer)
        case .ack(let number, let hash, let entries):
            write(Kind.ack, number, hash, entries, into: &writer)
        case .probe(let number, let name):
            writer.write(Kind.probe)
            writer.write(varint: number)
            writer.write(name)
        case .heard(let number, let name):
            writer.write(Kind.heard)
            writer.write(varint: number)
            writer.write(name)
        case .updates(let entries):
            writer.write(Kind.updates)
            entries.encode(into: &writer)
        case .table(let table):
            writer.write(Kind.table)
            table.encode(into: &writer)
        }
    }

    private func write(
        _ kind: UInt8, _ number: UInt64, _ hash: UInt64, _ entries: [MemberEntry],
        into writer: inout ByteWriter
    ) {
        writer.write(kind)
        writer.write(varint: number)
        writer.write(fixed: hash)
        entries.encode(into: &writer)
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        switch try reader.readByte() {
        case Kind.ping:
            self = .ping(
                number: try reader.readVarint(), tableHash: try reader.readFixed(),
                try Gossip.entries(from: &reader))
        case Kind.ack:
            self = .ack(
                number: try reader.readVarint(), tableHash: try reader.readFixed(),
                try Gossip.entries(from: &reader))
        case Kind.probe:
            self = .probe(number: try reader.readVarint(), of: try reader.readName())
        case Kind.heard:
            self = .heard(number: try reader.readVarint(), of: try reader.readName())
        case Kind.updates: self = .updates(try Gossip.entries(from: &reader))
        case Kind.table: self = .table(try MemberTable(from: &reader))
        default: throw .unknown
        }
    }

    private static func entries(
        from reader: inout ByteReader
    ) throws(WireError) -> [MemberEntry] {
        try reader.readList(limit: entriesMax)
    }
}
