import CRDT
import Wire

/// A state of a document as a later version of this program wrote it.
///
/// Every version begins a document with the number of its format, the context of its changes and
/// numbered fields. Only the version that wrote a state knows what the fields mean and how two
/// states merge: this version keeps the bytes unchanged, sends them on, and shows the fields that
/// it can read.
struct LaterState: Hashable, Sendable {
    let version: UInt8
    let changedBy: Context
    /// All bytes of the state, beginning with `version`.
    let bytes: [UInt8]

    /// The number that replaces the format's where a document has several states that this version
    /// could not merge.
    static let severalVersion: UInt8 = 0

    init(decoding bytes: [UInt8]) throws(WireError) {
        var reader = ByteReader(bytes)
        version = try reader.readByte()
        guard version > Document.version else { throw .invalid("a state of a later version") }
        changedBy = try Context(from: &reader)
        guard !changedBy.isEmpty else { throw .invalid("a document that somebody changed") }
        self.bytes = bytes
    }

    /// Returns the content as far as this version can read it; `unknown` where it cannot.
    func content(of kind: DocumentKey.Kind) -> Document.Content {
        do throws(WireError) {
            var reader = ByteReader(bytes)
            _ = try reader.readByte()
            _ = try Context(from: &reader)
            var fields = try Fields(from: &reader)
            return try Document.Content(kind, from: &fields, changedBy: changedBy)
        } catch {
            return .unknown
        }
    }

    /// Whether `other` includes this state: the state of a later version includes all that its
    /// writer had seen.
    private func isCovered(by other: LaterState) -> Bool {
        guard version <= other.version, other.changedBy.covers(changedBy) else { return false }
        guard version == other.version, changedBy == other.changedBy else { return true }
        return !other.bytes.lexicographicallyPrecedes(bytes)
    }

    /// Returns the states of both lists that no other state covers, ascending by bytes; the maxima
    /// of a union are a join.
    static func joined(_ mine: [LaterState], _ theirs: [LaterState]) -> [LaterState] {
        var all = mine
        for state in theirs where !all.contains(state) { all.append(state) }
        return all.filter { state in
            !all.contains { $0 != state && state.isCovered(by: $0) }
        }.sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }
    }
}

extension [LaterState] {
    /// The most states of one document: concurrent ones, until a node of their version merges them.
    static let countMax = 256

    /// The changes of all states together.
    var changedBy: Context {
        var context = Context()
        for state in self { context.merge(state.changedBy) }
        return context
    }

    /// Returns the merge of what this version can read of the states.
    func content(of kind: DocumentKey.Kind) -> Document.Content {
        var content = Document.Content.unknown
        for state in self { content.merge(state.content(of: kind)) }
        return content
    }

    /// Decodes the states of a document; the state of this version, where there is one, comes first
    /// and is passed to `own`.
    init(
        several reader: inout ByteReader, own: (ArraySlice<UInt8>) throws(WireError) -> Void
    ) throws(WireError) {
        self.init()
        let count = try reader.readCount(limit: Self.countMax + 1)
        for index in 0..<count {
            let bytes = try reader.readBytes()
            if index == 0, bytes.first == Document.version {
                try own(bytes)
            } else {
                append(try LaterState(decoding: [UInt8](bytes)))
            }
        }
    }
}
