import CRDT
import Chat
import Wire

/// The encoding of a record in the write log, with everything that the tables need.
extension Record {
    /// The greatest number of index keys that is read from bytes.
    private static let indexKeysMax = 1 << 16

    func encode(into writer: inout ByteWriter) {
        key.encode(into: &writer)
        changedBy.encode(into: &writer)
        writer.write(fixed: time.bits)
        writer.write(bytes)
        Record.encode(indexKeys, into: &writer)
        writer.write(purges)
        writer.write(previous != nil)
        guard let previous else { return }
        previous.changedBy.encode(into: &writer)
        writer.write(fixed: previous.time.bits)
        Record.encode(previous.indexKeys, into: &writer)
    }

    convenience init(from reader: inout ByteReader) throws(WireError) {
        let key = try DocumentKey(from: &reader)
        let changedBy = try Context(from: &reader)
        let time = HybridTimestamp(bits: try reader.readFixed())
        let bytes = Array(try reader.readBytes())
        let indexKeys = try Record.indexKeys(from: &reader)
        let purges = try reader.readFlag()
        var previous: Previous?
        if try reader.readFlag() {
            previous = Previous(
                changedBy: try Context(from: &reader),
                time: HybridTimestamp(bits: try reader.readFixed()),
                indexKeys: try Record.indexKeys(from: &reader))
        }
        self.init(
            key: key, changedBy: changedBy, time: time, bytes: bytes, indexKeys: indexKeys,
            previous: previous, purges: purges)
    }

    private static func encode(_ indexKeys: [String], into writer: inout ByteWriter) {
        writer.write(count: indexKeys.count)
        for term in indexKeys { writer.write(term) }
    }

    private static func indexKeys(from reader: inout ByteReader) throws(WireError) -> [String] {
        var indexKeys: [String] = []
        for _ in 0..<(try reader.readCount(limit: indexKeysMax)) {
            indexKeys.append(try reader.readText(limit: nameBytesMax))
        }
        return indexKeys
    }
}
