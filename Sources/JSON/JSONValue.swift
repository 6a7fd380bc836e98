import CJansson

/// A value of JSON (RFC 8259).
public enum JSONValue: Hashable, Sendable {
    /// A name and its value in an object.
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
    /// In the order of the text; no name occurs twice.
    case object([Member])

    /// The member of an object with this name; nil where there is none.
    public subscript(_ name: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members.first { $0.name == name }?.value
    }
}

/// The error of a text that is not accepted as JSON.
public struct JSONError: Error, Hashable, Sendable {
    /// A sentence for the developer of the client; it repeats nothing of the text.
    public let message: String

    public init(message: String) { self.message = message }
}

extension JSONValue {
    /// The most values inside each other, which bounds the stack that a value takes.
    public static let depthMax = 16

    /// Reads a text: UTF-8, an object or a list, without a second member of one name.
    ///
    /// - Throws: where the text is something else, contains U+0000 or a number out of range, or is
    ///   nested more deeply than `depthMax`.
    public init(reading text: UnsafeRawBufferPointer) throws(JSONError) {
        var error = json_error_t()
        let root = json_loadb(
            text.baseAddress?.assumingMemoryBound(to: CChar.self), text.count,
            Int(JSON_REJECT_DUPLICATES), &error)
        guard let root else {
            throw JSONError(message: "Not valid JSON at line \(error.line), column \(error.column)")
        }
        defer { json_decref(root) }
        // The library has a limit of its own, of 2,048.
        self = try JSONValue(root, depth: 1)
    }

    public init(reading text: [UInt8]) throws(JSONError) {
        let result = text.withUnsafeBytes { bytes in
            Result { () throws(JSONError) in try JSONValue(reading: bytes) }
        }
        self = try result.get()
    }

    /// - Parameter depth: in how many values this one is, counted with itself.
    private init(_ value: UnsafeMutablePointer<json_t>, depth: Int) throws(JSONError) {
        switch value.pointee.type {
        case JSON_TRUE: self = .flag(true)
        case JSON_FALSE: self = .flag(false)
        case JSON_INTEGER: self = .integer(json_integer_value(value))
        case JSON_REAL: self = .real(json_real_value(value))
        case JSON_STRING: self = .text(JSONValue.text(value))
        case JSON_ARRAY:
            guard depth <= JSONValue.depthMax else { throw .tooDeep }
            var list: [JSONValue] = []
            for index in 0..<json_array_size(value) {
                guard let element = json_array_get(value, index) else { continue }
                list.append(try JSONValue(element, depth: depth + 1))
            }
            self = .list(list)
        case JSON_OBJECT:
            guard depth <= JSONValue.depthMax else { throw .tooDeep }
            self = .object(try JSONValue.members(of: value, depth: depth))
        default: self = .null
        }
    }

    private static func text(_ value: UnsafeMutablePointer<json_t>) -> String {
        let bytes = UnsafeRawBufferPointer(
            start: json_string_value(value), count: json_string_length(value))
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func members(
        of object: UnsafeMutablePointer<json_t>, depth: Int
    ) throws(JSONError) -> [Member] {
        var members: [Member] = []
        members.reserveCapacity(json_object_size(object))
        var place = json_object_iter(object)
        while let member = place {
            if let name = json_object_iter_key(member), let value = json_object_iter_value(member) {
                members.append(
                    Member(String(cString: name), try JSONValue(value, depth: depth + 1)))
            }
            place = json_object_iter_next(object, member)
        }
        return members
    }
}

extension JSONError {
    static let tooDeep = JSONError(
        message: "JSON may be nested at most \(JSONValue.depthMax) values deep")
}
