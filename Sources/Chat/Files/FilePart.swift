import CRDT
import Wire

/// A part of a file's bytes; each but the last has `bytesMax` bytes.
///
/// A part is named by a digest of its bytes, so that two clients that put one part put the same
/// bytes, on two sides of a network partition too. It is purged where its file is closed, and put
/// again where a message that names the file arrives; of two states that of the later generation
/// counts.
public struct FilePart: Hashable, Sendable {
    /// The most bytes of a part: in base64 it fits a line.
    public static let bytesMax = 32 << 10
    /// The bytes of its name: 16 bytes of a digest in base64url.
    public static let nameBytes = 22
    /// The most parts of a file: 25 MiB.
    public static let countMax = 800

    /// Whether a name is as long as a digest, and written as one.
    public static func isName(_ part: PartID) -> Bool {
        part.text.utf8.count == nameBytes && Base64.decode(part.text) != nil
    }

    public private(set) var created: Stamp
    /// Empty once it is purged.
    public private(set) var bytes: [UInt8]
    /// How often it was purged and put again; it is purged where the number is odd.
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
        /// The generation, from the second on; the fields above say the others.
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
