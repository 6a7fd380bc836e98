import CRDT
import Wire

/// A part of a file's bytes; all parts except the last have `bytesMax` bytes.
///
/// The name of a part is a digest of its bytes, so parts with the same name have the same bytes,
/// even if two clients upload them on two sides of a network partition. A part is purged when its
/// file is closed, and its bytes are stored again when a message that names the file arrives. Of
/// two states of a part, the one with the later generation counts.
public struct FilePart: Hashable, Sendable {
    /// The most bytes of a part: 32 KiB, which in base64 fit in one line of the protocol.
    public static let bytesMax = 32 << 10
    /// The length of a part's name in bytes: a digest of 16 bytes in base64url.
    public static let nameBytes = 22
    /// The most parts of a file, which is thus at most 25 MiB.
    public static let countMax = 800

    /// Returns whether a part's name has the length and the form of a digest in base64url.
    public static func isName(_ part: PartID) -> Bool {
        part.text.utf8.count == nameBytes && Base64.decode(part.text) != nil
    }

    public private(set) var created: Stamp
    /// The bytes of the part; empty while the part is purged.
    public private(set) var bytes: [UInt8]
    /// The number of times that the part was purged or put again; the part is purged if the number
    /// is odd.
    private var generation: UInt64 = 0

    init(_ bytes: [UInt8], created: Stamp) {
        self.bytes = bytes
        self.created = created
    }

    public var isPurged: Bool { generation % 2 == 1 }

    var greatestTime: HybridTimestamp { created.time }

    mutating func purge() {
        if !isPurged { generation += 1 }
        bytes = []
    }

    mutating func put(_ bytes: [UInt8]) {
        guard isPurged, generation < FilePart.generationMax else { return }
        generation += 1
        self.bytes = bytes
    }

    /// The most generations: far more than there are messages that can name a file.
    private static let generationMax: UInt64 = 1 << 62

    mutating func merge(_ other: FilePart) {
        if other.generation > generation
            || other.generation == generation && bytes.lexicographicallyPrecedes(other.bytes)
        {
            (generation, bytes) = (other.generation, other.bytes)
        }
        created = min(created, other.created)
    }
}

extension FilePart {
    private enum FieldNumber {
        static let created: UInt64 = 1
        static let bytes: UInt64 = 2
        static let purged: UInt64 = 3
        /// The number of the field of the generation, which is omitted for generations 0 and 1: the
        /// field `purged` implies these.
        static let generation: UInt64 = 4
    }

    func write(to fields: inout some FieldSink & ~Copyable) {
        fields.set(FieldNumber.created, to: created)
        fields.set(FieldNumber.bytes) { $0.write(raw: bytes) }
        if isPurged { fields.set(FieldNumber.purged) { _ in } }
        if generation > 1 { fields.set(FieldNumber.generation) { $0.write(varint: generation) } }
    }

    init(from fields: inout Fields) throws(WireError) {
        guard let created: Stamp = try fields.take(FieldNumber.created),
            let bytes = fields.removeField(FieldNumber.bytes), bytes.count <= FilePart.bytesMax
        else { throw .invalid("the bytes of a part") }
        self.init(bytes, created: created)
        if let mark = fields.removeField(FieldNumber.purged) {
            guard mark.isEmpty, bytes.isEmpty else { throw .invalid("a purged part without bytes") }
            generation = 1
        }
        guard let number = fields.removeField(FieldNumber.generation) else { return }
        var reader = ByteReader(number)
        let later = try reader.readVarint()
        try reader.finish()
        guard (2...FilePart.generationMax).contains(later), later % 2 == generation % 2 else {
            throw .invalid("the generation of a part")
        }
        generation = later
    }
}
