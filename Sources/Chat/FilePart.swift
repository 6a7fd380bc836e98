import CRDT
import Wire

/// A part of a file's bytes; each but the last has `bytesMax` bytes.
///
/// A part is named by a digest of its bytes, so that two clients that put one part put the same
/// bytes, on two sides of a network partition too. It never changes, until it is purged.
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
    public private(set) var isPurged = false

    init(_ bytes: [UInt8], created: Stamp) {
        self.bytes = bytes
        self.created = created
    }

    var greatestTime: HybridTimestamp { created.time }

    mutating func purge() {
        isPurged = true
        bytes = []
    }

    mutating func merge(_ other: FilePart) {
        isPurged = isPurged || other.isPurged
        if other.created < created
            || other.created == created && bytes.lexicographicallyPrecedes(other.bytes)
        {
            (created, bytes) = (other.created, other.bytes)
        }
        if isPurged { bytes = [] }
    }
}

extension FilePart {
    private enum FieldNumber {
        static let created: UInt64 = 1
        static let bytes: UInt64 = 2
        static let purged: UInt64 = 3
    }

    func write(to fields: inout some FieldSink & ~Copyable) {
        fields.set(FieldNumber.created, to: created)
        fields.set(FieldNumber.bytes) { $0.write(raw: bytes) }
        if isPurged { fields.set(FieldNumber.purged) { _ in } }
    }

    init(from fields: inout Fields) throws(WireError) {
        guard let created: Stamp = try fields.take(FieldNumber.created),
            let bytes = fields.removeField(FieldNumber.bytes), bytes.count <= FilePart.bytesMax
        else { throw .invalid("the bytes of a part") }
        self.init(bytes, created: created)
        if let mark = fields.removeField(FieldNumber.purged) {
            guard mark.isEmpty, bytes.isEmpty else { throw .invalid("a purged part without bytes") }
            isPurged = true
        }
    }
}
