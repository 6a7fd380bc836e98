import CRDT
import Wire

/// A state of a document as a later version of this program wrote it.
///
/// Every version begins a document with the number of its format, the context of its changes and
/// fields under numbers. What the fields mean, and how two states merge, only that version knows:
/// this one keeps the bytes as they are, sends them on, and shows the fields that it can read.
struct LaterState: Hashable, Sendable {
    let version: UInt8
    let changedBy: Context
    /// All of them, the version in front.
    let bytes: [UInt8]

    /// The number in front of several states that this version could not merge.
    static let severalVersion: UInt8 = 0

    init(decoding bytes: [UInt8]) throws(WireError) {
        var reader = ByteReader(bytes)
        version = try reader.readByte()
        guard version > Document.version else { throw .invalid("a state of a later version") }
        changedBy = try Context(from: &reader)
        guard !changedBy.isEmpty else { throw .invalid("a document that somebody changed") }
        self.bytes = bytes
    }

    /// Its fields as this version reads them; `unknown` where it cannot.
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

    /// Whether all of it is in `other`: a later version's state holds what its writer had seen.
    private func isCovered(by other: LaterState) -> Bool {
        guard version <= other.version, other.changedBy.covers(changedBy) else { return false }
        guard version == other.version, changedBy == other.changedBy else { return true }
        return !other.bytes.lexicographicallyPrecedes(bytes)
    }

    /// Those of both that no other covers, ascending by their bytes: the maxima of a union, which
    /// are a join.
    static func joined(_ mine: [LaterState], _ theirs: [LaterState]) -> [LaterState] {
        var all = mine
        for state in theirs where !all.contains(state) { all.append(state) }
        return all.filter { state in
            !all.contains { $0 != state && state.isCovered(by: $0) }
        }.sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }
    }
}

extension [LaterState] {
    /// The most states that one document has: concurrent ones, which the first node of their
    /// version merges.
    static let countMax = 256

    /// All changes that are in one of them.
    var changedBy: Context {
        var context = Context()
        for state in self { context.merge(state.changedBy) }
        return context
    }

    /// What this version can show of them together.
    func content(of kind: DocumentKey.Kind) -> Document.Content {
        var content = Document.Content.unknown
        for state in self { content.merge(state.content(of: kind)) }
        return content
    }

    /// The states in a document's bytes, behind the one of this version where there is one.
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
