import CRDT
import Wire

/// The position of a message in its conversation: the time of its sending, then its id.
public struct HistoryPosition: Hashable, Comparable, Sendable {
    public let time: HybridTimestamp
    public let id: MessageID

    public init(time: HybridTimestamp, id: MessageID) {
        self.time = time
        self.id = id
    }

    /// Returns the position before every message sent at `time` or later, and after all others.
    public static func start(of time: HybridTimestamp) -> HistoryPosition {
        // `-` is the least of all names.
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

/// A part of a conversation's history: up to `limit` messages next to a position.
public struct HistoryPage: Hashable, Sendable {
    public enum Place: Hashable, Sendable {
        case newest
        /// Just before this position, which is excluded.
        case before(HistoryPosition)
        /// Just after this position, which is excluded.
        case after(HistoryPosition)
    }

    public let place: Place
    public let limit: Int

    public init(_ place: Place, limit: Int) {
        self.place = place
        self.limit = limit
    }

    /// Whether the page is filled from its newest message downwards.
    public var isDescending: Bool {
        if case .after = place { return false }
        return true
    }

    /// Whether a message at `position` may be on the page.
    public func admits(_ position: HistoryPosition) -> Bool {
        switch place {
        case .newest: true
        case .before(let bound): position < bound
        case .after(let bound): bound < position
        }
    }
}

extension MessageID {
    /// Creates an id whose byte order follows `time`, so that a table keyed by id stores messages
    /// of about the same time side by side.
    ///
    /// Its 15 bytes are the most that a `String` holds without an allocation, and ids are copied
    /// often.
    ///
    /// - Parameter entropy: 64 random bits, of which 42 are used: among a thousand ids that a
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

    /// Returns the millisecond in which a node made this id; nil where no node can have made it.
    ///
    /// The time is only a hint: a client that names a message may choose an id of the same form.
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

/// The digits of an id, six bits each; the first eight hold the time in milliseconds.
private let mintedDigits = 15
private let mintedTimeDigits = 8

/// Returns the digit for the lowest six bits; digits are in byte order as their values are.
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
