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

    /// Before every message that was sent at `time` or later, and behind all others.
    public static func start(of time: HybridTimestamp) -> HistoryPosition {
        // The least of all names.
        HistoryPosition(time: time, id: MessageID(checked: "-"))
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
    /// Its 15 bytes are the most that a `String` holds without memory of its own, and an id passes
    /// through many hands.
    ///
    /// - Parameter entropy: 64 random bits, of which 42 count: of a thousand ids that a
    ///   conversation gets in one millisecond, two are equal once in nine million times.
    public static func minted(at time: HybridTimestamp, entropy: UInt64) -> MessageID {
        MessageID(
            checked: String(unsafeUninitializedCapacity: 15) { buffer in
                for place in 0..<mintedTimeDigits {
                    buffer[place] = digit(time.milliseconds >> UInt64(6 * (7 - place)))
                }
                for place in mintedTimeDigits..<mintedDigits {
                    buffer[place] = digit(entropy >> UInt64(6 * (14 - place)))
                }
                return mintedDigits
            })
    }

    /// The millisecond in which a node made this id, nil where none can have made it.
    ///
    /// Whoever names a message may choose an id that looks the same: what it says is a hint.
    public static func mintedAt(_ id: String) -> HybridTimestamp? {
        var id = id
        let milliseconds = id.withUTF8 { digits -> UInt64? in
            guard digits.count == mintedDigits else { return nil }
            var milliseconds: UInt64 = 0
            for place in 0..<mintedTimeDigits {
                guard let value = value(ofDigit: digits[place]) else { return nil }
                milliseconds = milliseconds << 6 | UInt64(value)
            }
            return milliseconds
        }
        guard let milliseconds, milliseconds <= HybridTimestamp.millisecondsMax else { return nil }
        return HybridTimestamp(milliseconds: milliseconds)
    }
}

/// Six bits each.
private let mintedDigits = 15
private let mintedTimeDigits = 8

/// The digit for the lowest six bits; digits are in byte order as their values are.
private func digit(_ bits: UInt64) -> UInt8 {
    let value = UInt8(truncatingIfNeeded: bits & 63)
    return switch value {
    // 0…9 and :
    case ..<11: UInt8(ascii: "0") + value
    case ..<37: UInt8(ascii: "A") + (value - 11)
    case 37: UInt8(ascii: "_")
    default: UInt8(ascii: "a") + (value - 38)
    }
}

private func value(ofDigit digit: UInt8) -> UInt8? {
    switch digit {
    case UInt8(ascii: "0")...UInt8(ascii: ":"): digit - UInt8(ascii: "0")
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): digit - UInt8(ascii: "A") + 11
    case UInt8(ascii: "_"): 37
    case UInt8(ascii: "a")...UInt8(ascii: "z"): digit - UInt8(ascii: "a") + 38
    default: nil
    }
}
