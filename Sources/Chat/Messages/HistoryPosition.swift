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

    /// Returns the position before every message sent at `time` or later, and after every message
    /// sent earlier.
    public static func start(of time: HybridTimestamp) -> HistoryPosition {
        // The name `-` sorts before every other name.
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

/// A requested part of a conversation's history: up to `limit` messages before or after a position,
/// or the newest ones.
public struct HistoryPage: Hashable, Sendable {
    public enum Place: Hashable, Sendable {
        case newest
        /// The messages just before a position, which is excluded.
        case before(HistoryPosition)
        /// The messages just after a position, which is excluded.
        case after(HistoryPosition)
    }

    public let place: Place
    public let limit: Int

    public init(_ place: Place, limit: Int) {
        self.place = place
        self.limit = limit
    }

    /// Whether the page is filled from its newest message towards older ones.
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
    /// An id has 15 bytes, the most that a `String` stores without an allocation, since ids are
    /// copied often.
    ///
    /// - Parameter entropy: 64 random bits, of which 42 are used: if a conversation gets a thousand
    ///   ids in one millisecond, the probability that two are equal is 1 in nine million.
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

    /// Returns the time, in milliseconds, at which a node created the id; nil if the id does not
    /// have the form of a created one.
    ///
    /// The time is only a hint: a client that chooses a message's id may choose one of the same
    /// form.
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

/// The number of digits of a created message id, each of six bits; the first eight encode the time
/// in milliseconds.
private let mintedDigits = 15
private let mintedTimeDigits = 8

/// Returns the digit for the lowest six bits; the byte order of the digits is the order of their
/// values.
private func digit(_ bits: UInt64) -> UInt8 {
    let value = UInt8(truncatingIfNeeded: bits & 63)
    return switch value {
    // The digits 0 to 9 and the colon.
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
