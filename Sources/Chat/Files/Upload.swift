import CRDT
import Wire

/// An upload of a file: its owner and type and, once the upload has ended, its size and parts.
///
/// Two uploads under one file id, on two sides of a network partition, are two separate values;
/// readers get one of them, so they read exactly what one client has uploaded. Uploads that have
/// ended sort before others, and uploads that began earlier sort before later ones.
struct Upload: Hashable, Sendable {
    /// The content of a file, as the end of its upload names it.
    struct Content: Hashable, Sendable {
        /// The stamp of the upload's end.
        let ended: Stamp
        /// The size in bytes.
        let size: UInt64
        /// The parts in the order of their bytes; a part may occur several times.
        let parts: [PartID]

        /// A hash of the size and the parts: equal content has the same tag.
        var tag: String {
            var writer = ByteWriter()
            writer.write(varint: size)
            parts.encode(into: &writer)
            let hash = Hash128(of: writer.bytes)
            return hexadecimal(hash.high) + hexadecimal(hash.low)
        }
    }

    /// The sort key that identifies an upload among the uploads under a file's id.
    ///
    /// An operation that two nodes executed may have ended two uploads, and one upload may have
    /// been ended by two operations: each pair of a beginning and an end counts as one upload.
    struct Key: Hashable, Comparable, Sendable {
        let begun: Stamp
        let ended: Stamp?

        static func < (left: Key, right: Key) -> Bool {
            (left.ended == nil ? 1 : 0, left.begun, left.ended ?? left.begun)
                < (right.ended == nil ? 1 : 0, right.begun, right.ended ?? right.begun)
        }
    }

    let begun: Stamp
    let owner: UserID
    /// The media type of the content, for example `image/png`.
    let type: FieldText
    /// The content that the upload's end names; nil until the upload has ended.
    let content: Content?

    init(begun: Stamp, owner: UserID, type: FieldText, content: Content? = nil) {
        self.begun = begun
        self.owner = owner
        self.type = type
        self.content = content
    }

    var key: Key { Key(begun: begun, ended: content?.ended) }

    func ended(with content: Content) -> Upload {
        Upload(begun: begun, owner: owner, type: type, content: content)
    }

    /// The upload without its type, size and parts; its key is unchanged, and so is its order among
    /// other uploads.
    var emptied: Upload {
        Upload(
            begun: begun, owner: owner, type: FieldText(""),
            content: content.map { Content(ended: $0.ended, size: 0, parts: []) })
    }

    var greatestTime: HybridTimestamp { max(begun.time, content?.ended.time ?? .zero) }
}

extension Upload: Comparable {
    static func < (left: Upload, right: Upload) -> Bool {
        guard left.key == right.key else { return left.key < right.key }
        // Operations with equal stamps are equal, so the further comparisons matter only for
        // damaged documents.
        let (one, other) = (
            (left.owner, left.type, left.content?.size ?? 0),
            (right.owner, right.type, right.content?.size ?? 0)
        )
        guard one == other else { return one < other }
        return (left.content?.parts ?? []).lexicographicallyPrecedes(right.content?.parts ?? [])
    }
}

extension Upload: WireValue {
    func encode(into writer: inout ByteWriter) {
        begun.encode(into: &writer)
        writer.write(owner)
        type.encode(into: &writer)
        content.encode(into: &writer)
    }

    init(from reader: inout ByteReader) throws(WireError) {
        begun = try Stamp(from: &reader)
        owner = try reader.readName()
        type = try FieldText(from: &reader)
        content = try Optional(from: &reader)
    }
}

extension Upload.Content: WireValue {
    func encode(into writer: inout ByteWriter) {
        ended.encode(into: &writer)
        writer.write(varint: size)
        parts.encode(into: &writer)
    }

    init(from reader: inout ByteReader) throws(WireError) {
        ended = try Stamp(from: &reader)
        size = try reader.readVarint()
        parts = try reader.readParts()
    }
}

extension ByteReader {
    /// Reads the list of a file's parts, and checks their number and names.
    mutating func readParts() throws(WireError) -> [PartID] {
        let parts: [PartID] = try readList(limit: FilePart.countMax)
        guard parts.allSatisfy(FilePart.isName) else { throw .invalid("the parts of a file") }
        return parts
    }
}
