import CSimdjson
import Wire

/// A JSON value (RFC 8259).
public enum JSONValue: Hashable, Sendable {
    /// A member of a JSON object: a name and a value.
    public struct Member: Hashable, Sendable {
        public let name: String
        public let value: JSONValue

        public init(_ name: String, _ value: JSONValue) {
            self.name = name
            self.value = value
        }
    }

    case null
    case flag(Bool)
    case integer(Int64)
    case real(Double)
    case text(String)
    case list([JSONValue])
    /// The members of an object, in the order of the text; no name occurs twice.
    case object([Member])

    /// The value of the member with this name in a JSON object; nil if there is none.
    public subscript(_ name: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members.first { $0.name == name }?.value
    }
}

/// The error for a text that is not accepted as JSON.
public struct JSONError: Error, Hashable, Sendable {
    /// The error message for the developer of the client; it repeats nothing of the text.
    public let message: String

    public init(message: String) { self.message = message }
}

extension JSONValue {
    /// The maximum nesting depth of JSON values, which bounds the stack that the parser uses.
    public static let depthMax = 16

    /// Parses a JSON text in UTF-8 whose root is an object or a list.
    ///
    /// - Throws: an error if the text is not such JSON, repeats a name in an object, contains
    ///   U+0000 or a number out of range, or is nested more deeply than `depthMax`.
    public init(reading text: UnsafeRawBufferPointer) throws(JSONError) {
        var root = csimdjson_value()
        let start = text.baseAddress?.assumingMemoryBound(to: CChar.self)
        if let error = csimdjson_read(start, text.count, &root) {
            throw JSONError(message: "Not valid JSON: \(String(cString: error))")
        }
        let kind = csimdjson_kind(root)
        guard kind == CSIMDJSON_OBJECT || kind == CSIMDJSON_ARRAY else {
            throw JSONError(message: "Not valid JSON: a text is an object or a list")
        }
        self = try JSONValue(root, depth: 1)
    }

    public init(reading text: [UInt8]) throws(JSONError) {
        let result = text.withUnsafeBytes { bytes in
            Result { () throws(JSONError) in try JSONValue(reading: bytes) }
        }
        self = try result.get()
    }

    /// - Parameter depth: the nesting depth of this JSON value; 1 for the root.
    private init(_ value: csimdjson_value, depth: Int) throws(JSONError) {
        switch csimdjson_kind(value) {
        case CSIMDJSON_BOOL: self = .flag(csimdjson_bool(value) != 0)
        case CSIMDJSON_INTEGER: self = .integer(csimdjson_integer(value))
        case CSIMDJSON_UNSIGNED: throw .outOfRange
        case CSIMDJSON_REAL: self = .real(csimdjson_real(value))
        case CSIMDJSON_STRING: self = .text(try JSONValue.text(csimdjson_string(value)))
        case CSIMDJSON_ARRAY:
            guard depth <= JSONValue.depthMax else { throw .tooDeep }
            self = .list(try JSONValue.elements(of: value, depth: depth))
        case CSIMDJSON_OBJECT:
            guard depth <= JSONValue.depthMax else { throw .tooDeep }
            self = .object(try JSONValue.members(of: value, depth: depth))
        default: self = .null
        }
    }

    /// Returns a JSON string as a Swift string; half of a surrogate pair, which escapes can spell,
    /// is an error.
    private static func text(_ text: csimdjson_text) throws(JSONError) -> String {
        let bytes = UnsafeRawBufferPointer(start: text.bytes, count: text.count)
        guard !bytes.contains(0), let valid = String(utf8: bytes) else {
            throw .noText
        }
        return valid
    }

    private static func elements(
        of array: csimdjson_value, depth: Int
    ) throws(JSONError) -> [JSONValue] {
        var elements: [JSONValue] = []
        var place = csimdjson_array_begin(array)
        let end = csimdjson_array_end(array)
        while place.index != end.index {
            elements.append(try JSONValue(csimdjson_element(place), depth: depth + 1))
            place = csimdjson_array_next(place)
        }
        return elements
    }

    private static func members(
        of object: csimdjson_value, depth: Int
    ) throws(JSONError) -> [Member] {
        var members: [Member] = []
        var place = csimdjson_object_begin(object)
        let end = csimdjson_object_end(object)
        while place.index != end.index {
            let value = try JSONValue(csimdjson_member(place), depth: depth + 1)
            members.append(Member(try text(csimdjson_name(place)), value))
            place = csimdjson_object_next(place)
        }
        guard !hasRepeatedName(members) else { throw .repeatedName }
        return members
    }

    /// The maximum number of an object's members whose names are compared in pairs; the names of
    /// more members are put into a set, to find repeated names.
    private static let comparedMax = 8

    private static func hasRepeatedName(_ members: [Member]) -> Bool {
        guard members.count <= comparedMax else {
            return Set(members.map(\.name)).count < members.count
        }
        return members.indices.contains { index in
            members[..<index].contains { $0.name == members[index].name }
        }
    }
}

extension JSONError {
    static let outOfRange = JSONError(message: "A number of the JSON is out of range")
    static let noText = JSONError(
        message: "A text of the JSON has U+0000 or half a surrogate pair")
    static let repeatedName = JSONError(message: "A name occurs twice in an object of the JSON")
    static let tooDeep = JSONError(
        message: "JSON may be nested at most \(JSONValue.depthMax) values deep")
}
