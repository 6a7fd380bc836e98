import CRDT
import Wire

/// An upload of a file: who began it and, once it has ended, what it consists of.
///
/// Two uploads under one name, on two sides of a network partition, are two values, of which one is
/// read as a whole. An upload that has ended comes before one that has not, an earlier beginning
/// before a later one. What is read is therefore what one client has uploaded.
struct Upload: Hashable, Sendable {
    /// The content of a file, as the end of its upload names it.
    struct Content: Hashable, Sendable {
        /// The stamp of the upload's end.
        let ended: Stamp
        /// In bytes.
        let size: UInt64
        /// The parts in the order of their bytes; one may be there several times.
        let parts: [PartID]

        /// A name of these bytes: the same bytes have the same one.
        var tag: String {
            var writer = ByteWriter()
            writer.write(varint: size)
            parts.encode(into: &writer)
            let hash = Hash128(of: writer.bytes)
            return hexadecimal(hash.high) + hexadecimal(hash.low)
        }
    }

    /// What names an upload among those under a file's id, in their order.
    ///
    /// An end that was executed twice may have ended two beginnings, and one beginning may have two
    /// ends: each pair of the two is an upload.
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
    /// The type of the content, as `image/png`.
    let type: FieldText
    /// Nil until all parts have arrived.
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

    /// The upload without what it consists of: of two uploads the same one counts as before.
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
        // An operation has one meaning: the rest is for damaged documents.
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
    /// Reads the list of a file's parts.
    mutating func readParts() throws(WireError) -> [PartID] {
        let parts: [PartID] = try readList(limit: FilePart.countMax)
        guard parts.allSatisfy(FilePart.isName) else { throw .invalid("the parts of a file") }
        return parts
    }
}
