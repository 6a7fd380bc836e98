/// The URL path and query of an HTTP request.
public struct RequestTarget: Hashable, Sendable {
    /// A `name=value` of the URL query, without percent-encoding.
    public struct Parameter: Hashable, Sendable {
        public let name: String
        public let value: String
    }

    /// The parts of the URL path between slashes, without percent-encoding; empty for `/`.
    ///
    /// A part contains a slash if the slash was percent-encoded.
    public let segments: [String]
    /// The parameters of the URL query, in order; a parameter without `=` has an empty value.
    public let query: [Parameter]

    /// Parses a URL path and query in the form that a request line has.
    public init(_ text: String) throws(HTTPError) {
        var text = text
        let result = text.withUTF8 { bytes in
            Result { () throws(HTTPError) in
                try RequestTarget(UnsafeRawBufferPointer(bytes)[...])
            }
        }
        self = try result.get()
    }

    /// Parses the target of a request line.
    ///
    /// - Parameter bytes: a target in origin form (`/v1/chats?find=x`) or in absolute form
    ///   (`http://host/v1/chats`), of which the scheme and host are ignored (RFC 9112, section
    ///   3.2).
    init(_ bytes: Slice<UnsafeRawBufferPointer>) throws(HTTPError) {
        let bytes = try RequestTarget.origin(bytes)
        guard bytes.first == .slash else {
            throw HTTPError(.badRequest, "The target of a request has to begin with /")
        }
        let end = bytes.firstIndex(of: .questionMark) ?? bytes.endIndex
        var segments: [String] = []
        segments.reserveCapacity(6)
        var start = bytes.startIndex + 1
        while start <= end {
            let slash = bytes[start..<end].firstIndex(of: .slash) ?? end
            segments.append(try RequestTarget.decoded(bytes[start..<slash], isQuery: false))
            start = slash + 1
        }
        guard !segments.contains(where: { $0 == "." || $0 == ".." }) else {
            throw HTTPError(.badRequest, "A path may not contain . or .. as a part")
        }
        self.segments = segments == [""] ? [] : segments
        var query: [Parameter] = []
        for part in bytes[end...].dropFirst().split(separator: .ampersand) {
            let name = part.prefix { $0 != .equals }
            query.append(
                Parameter(
                    name: try RequestTarget.decoded(name, isQuery: true),
                    value: try RequestTarget.decoded(
                        part.dropFirst(name.count + 1), isQuery: true)))
        }
        self.query = query
    }

    /// Returns a target without the scheme and authority of an absolute form.
    private static func origin(
        _ bytes: Slice<UnsafeRawBufferPointer>
    ) throws(HTTPError) -> Slice<UnsafeRawBufferPointer> {
        guard bytes.first != .slash else { return bytes }
        for scheme in ["http://", "https://"] where bytes.starts(with: scheme.utf8) {
            let behind = bytes.dropFirst(scheme.utf8.count)
            let authority = behind.prefix { $0 != .slash }
            guard !authority.isEmpty, authority.allSatisfy(\.mayBeInAuthority) else {
                throw HTTPError(.badRequest, "The host of the target is not one")
            }
            return behind.dropFirst(authority.count)
        }
        return bytes
    }

    /// Decodes escapes such as `%41` and, in a query, `+`.
    private static func decoded(
        _ part: Slice<UnsafeRawBufferPointer>, isQuery: Bool
    ) throws(HTTPError) -> String {
        // Most parts need no decoding.
        if part.allSatisfy({ $0.mayBeInTarget && $0 != .percent && $0 != .plus }) {
            return String(decoding: UnsafeRawBufferPointer(rebasing: part), as: UTF8.self)
        }
        var text: [UInt8] = []
        text.reserveCapacity(part.count)
        var rest = part
        while let byte = rest.popFirst() {
            switch byte {
            case .percent:
                guard let high = rest.popFirst()?.hexadecimalValue,
                    let low = rest.popFirst()?.hexadecimalValue
                else { throw HTTPError(.badRequest, "Two hexadecimal digits have to follow %") }
                text.append(high << 4 | low)
            case .plus where isQuery: text.append(.space)
            default:
                guard byte.mayBeInTarget else {
                    throw HTTPError(.badRequest, "A character of the target has to be escaped")
                }
                text.append(byte)
            }
        }
        guard text.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }),
            let decoded = String(validating: text, as: UTF8.self)
        else {
            throw HTTPError(
                .badRequest, "The target has to be UTF-8 without control characters")
        }
        return decoded
    }
}
