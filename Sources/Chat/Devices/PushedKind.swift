import CRDT
import Wire

/// The kind in which a notification was pushed to its device last; the raw values are on the lines.
///
/// A withdrawal comes after the message, and nothing after the withdrawal: a merge keeps the
/// greater.
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

/// What was pushed of one entry of a device's list.
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
