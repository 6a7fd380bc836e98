import CRDT
import Wire

/// The value of a field that can be cleared again; a cleared field sorts before every value.
public struct Clearable<Value: Comparable & Hashable & Sendable>: Hashable, Sendable {
    public let value: Value?

    public init(_ value: Value?) { self.value = value }
}

extension Clearable: Comparable {
    public static func < (left: Clearable, right: Clearable) -> Bool {
        guard let theirs = right.value else { return false }
        guard let mine = left.value else { return true }
        return mine < theirs
    }
}

extension Clearable: WireValue where Value: WireValue {
    public func encode(into writer: inout ByteWriter) {
        value.encode(into: &writer)
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        value = try Optional(from: &reader)
    }
}

/// The text of a field, such as a title or a name; compared by its UTF-8 bytes.
public struct FieldText: Hashable, Sendable {
    public let text: String

    public init(_ text: String) { self.text = text }
}

extension FieldText: Comparable {
    public static func == (left: FieldText, right: FieldText) -> Bool {
        haveSameBytes(left.text, right.text)
    }

    public static func < (left: FieldText, right: FieldText) -> Bool {
        precedesInBytes(left.text, right.text)
    }
}

extension FieldText: WireValue {
    public func encode(into writer: inout ByteWriter) { writer.write(text) }

    public init(from reader: inout ByteReader) throws(WireError) {
        text = try reader.readText(limit: ChatLimits.titleBytesMax)
    }
}

extension Optional {
    /// Merges two registers of a field that may be unset; the later write wins.
    mutating func merge<Value>(_ other: Wrapped?) where Wrapped == Register<Value> {
        guard let other else { return }
        guard var mine = self else {
            self = other
            return
        }
        mine.merge(other)
        self = mine
    }

    /// Merges two registers of a field that is set together with others, as `Register` does.
    mutating func mergeTogether<Value>(_ other: Wrapped?) where Wrapped == Register<Value> {
        guard let other else { return }
        var mine = self ?? other
        mine.mergeTogether(other)
        self = mine
    }
}
