import CRDT
import Wire

/// The kind of the last push of a notification to its device; the raw values are words of the line
/// protocol.
///
/// A withdrawal is pushed only after the message, and it is the last push of a notification, so a
/// merge keeps the greater kind.
public enum PushedKind: String, CaseIterable, Hashable, Sendable {
    case message
    case withdrawn
}

extension PushedKind: NumberedChoice {
    public static var noun: String { "as what a notification was pushed" }

    public var number: UInt8 {
        switch self {
        case .message: 1
        case .withdrawn: 2
        }
    }
}

extension PushedKind: Comparable {
    public static func < (left: PushedKind, right: PushedKind) -> Bool {
        left.number < right.number
    }
}

/// The kind of the last push for one entry of a device's list, as it is stored.
struct PushedEntry: Hashable, Sendable {
    let dot: Dot
    let kind: PushedKind
}

extension PushedEntry: WireValue {
    func encode(into writer: inout ByteWriter) {
        dot.encode(into: &writer)
        kind.encode(into: &writer)
    }

    init(from reader: inout ByteReader) throws(WireError) {
        dot = try Dot(from: &reader)
        kind = try PushedKind(from: &reader)
    }
}
