import CRDT
import Wire

/// Where a message stands in its conversation: by the time of its sending, then by id.
public struct HistoryPosition: Hashable, Comparable, Sendable {
    public let time: HybridTimestamp
    public let id: MessageID

    public init(time: HybridTimestamp, id: MessageID) {
        self.time = time
        self.id = id
    }

    public static func < (left: HistoryPosition, right: HistoryPosition) -> Bool {
        (left.time, left.id) < (right.time, right.id)
    }
}

extension HistoryPosition: WireValue {
    public func encode(into writer: inout ByteWriter) {
        time.encode(into: &writer)
        writer.write(id)
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        self.init(time: try HybridTimestamp(from: &reader), id: try reader.readName())
    }
}

/// A part of a conversation's history: so many messages next to a position.
public struct HistoryPage: Hashable, Sendable {
    public enum Place: Hashable, Sendable {
        case newest
        /// Just before it, itself left out.
        case before(HistoryPosition)
        /// Just after it, itself left out.
        case after(HistoryPosition)
    }

    public let place: Place
    public let limit: Int

    public init(_ place: Place, limit: Int) {
        self.place = place
        self.limit = limit
    }

    /// Whether it is filled from its newest message downwards.
    public var isDescending: Bool {
        if case .after = place { return false }
        return true
    }

    /// Whether a message at `position` may stand on it.
    public func admits(_ position: HistoryPosition) -> Bool {
        switch place {
        case .newest: true
        case .before(let bound): position < bound
        case .after(let bound): bound < position
        }
    }
}

extension MessageID {
    /// An id made by a node: in byte order of time, and so, in a table keyed by id, beside its
    /// neighbours.
    ///
    /// - Parameter entropy: 64 random bits.
    public static func minted(at time: HybridTimestamp, entropy: UInt64) -> MessageID {
        MessageID(checked: base32(time.bits) + base32(entropy))
    }
}

/// 13 digits of Crockford's alphabet in lower case: in byte order as the numbers are.
private func base32(_ number: UInt64) -> String {
    let alphabet = Array("0123456789abcdefghjkmnpqrstvwxyz".utf8)
    return String(unsafeUninitializedCapacity: 13) { buffer in
        for place in 0..<13 {
            let digit = number >> UInt64(5 * (12 - place)) & 31
            buffer[place] = alphabet[Int(digit)]
        }
        return 13
    }
}
