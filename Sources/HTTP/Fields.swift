import Wire

/// The header fields of an HTTP request, in order.
public struct Fields: Hashable, Sendable {
    /// The name and the value of an HTTP header field.
    struct Field: Hashable, Sendable {
        /// The name of the header field, in lower case.
        let name: String
        /// The value of the header field, without white space around it.
        let value: String
    }

    private var fields: [Field] = []

    public var count: Int { fields.count }

    /// The names, in lower case, and the values of all header fields, in order.
    public var all: [(name: String, value: String)] { fields.map { ($0.name, $0.value) } }

    private mutating func append(_ name: String, _ value: String) {
        fields.append(Field(name: name, value: value))
    }

    /// Returns the values of all header fields with a name, in order.
    ///
    /// - Parameter name: the name, in lower case.
    public func values(of name: String) -> [String] {
        // Most lookups find nothing, and then allocate nothing.
        var values: [String] = []
        for field in fields where field.name == name { values.append(field.value) }
        return values
    }

    /// Returns the value of the only header field with a name; nil if there is none.
    ///
    /// - Parameter name: the name, in lower case.
    /// - Throws: 400 for several fields, because programs differ in which of them they use.
    public func only(_ name: String) throws(HTTPError) -> String? {
        var found: String?
        for field in fields where field.name == name {
            guard found == nil else {
                throw HTTPError(.badRequest, "The header field \(name) may be given once only")
            }
            found = field.value
        }
        return found
    }

    /// Returns the elements of the comma-separated lists in the header fields with a name, in lower
    /// case and without surrounding white space; empty elements are left out.
    public func elements(of name: String) -> [String] {
        texts(of: name).map { $0.lowercased() }
    }

    /// Returns the elements of the comma-separated lists in the header fields with a name, without
    /// surrounding white space; empty elements are left out (RFC 9110, section 5.6.1).
    public func texts(of name: String) -> [String] {
        values(of: name).flatMap { parts(of: $0[...], between: .comma) }
            .map { String(trimmed($0)) }.filter { !$0.isEmpty }
    }
}

extension Fields {
    /// Whether the client accepts responses that are compressed by gzip (RFC 9110, section 12.5.3).
    public var acceptsGzip: Bool {
        elements(of: "accept-encoding").contains { element in
            let words = parts(of: element[...], between: .semicolon).map { trimmed($0) }
            guard words.first == "gzip" || words.first == "x-gzip" else { return false }
            // With q=0, q=0.0 and so on, the client refuses gzip.
            return !words.dropFirst().contains { part in
                part.hasPrefix("q=") && part.dropFirst(2).allSatisfy { $0 == "0" || $0 == "." }
            }
        }
    }

    /// Parses a line of an HTTP head: a name, a colon and a value.
    ///
    /// A line that begins with white space is refused: it continued the line before, until RFC 9112
    /// forbade that.
    mutating func append(line: Slice<UnsafeRawBufferPointer>) throws(HTTPError) {
        let name = line.prefix(while: \.isTokenCharacter)
        let behind = line.dropFirst(name.count)
        guard !name.isEmpty, behind.first == .colon else {
            throw HTTPError(.badRequest, "A header field has a name, a colon and a value")
        }
        let value = trimmed(UnsafeRawBufferPointer(rebasing: behind.dropFirst()))
        guard value.allSatisfy(\.isValueCharacter), let text = String(utf8: value) else {
            throw HTTPError(
                .badRequest, "A header field has to be UTF-8 without control characters")
        }
        append(String(decoding: name, as: UTF8.self).lowercased(), text)
    }
}

/// Returns a text without spaces and tabs at its ends.
///
/// Bytes are compared, because a space and an accent that follows it are one character in Swift.
func trimmed(_ text: Substring) -> Substring {
    var bytes = text.utf8
    while bytes.first == .space || bytes.first == .tab { bytes.removeFirst() }
    while bytes.last == .space || bytes.last == .tab { bytes.removeLast() }
    return Substring(bytes)
}

/// Returns bytes without spaces and tabs at their ends.
private func trimmed(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
    func isBlank(_ byte: UInt8) -> Bool { byte == .space || byte == .tab }
    let start = bytes.firstIndex { !isBlank($0) } ?? bytes.endIndex
    let end = bytes.lastIndex { !isBlank($0) }.map { $0 + 1 } ?? bytes.endIndex
    return UnsafeRawBufferPointer(rebasing: bytes[start..<end])
}

/// Returns the non-empty parts of a text between the bytes of a separator.
func parts(of text: Substring, between separator: UInt8) -> [Substring] {
    text.utf8.split(separator: separator).map(Substring.init)
}
