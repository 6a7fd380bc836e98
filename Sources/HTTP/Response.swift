import Wire

/// The status line and the header fields of a response.
public struct ResponseHead: Hashable, Sendable {
    /// The way in which the end of a response's body is found.
    public enum Body: Hashable, Sendable {
        /// The number of bytes that follow.
        case length(UInt64)
        /// Chunks that `ByteWriter.write(chunk:)` makes.
        case chunked
        /// All that follows, in another protocol.
        case upgrade
    }

    public let status: HTTPStatus
    public var body: Body
    /// Whether the connection is closed behind the response.
    public var closes = false
    private(set) var fields: [Fields.Field] = []

    public init(_ status: HTTPStatus, body: Body = .length(0)) {
        self.status = status
        self.body = body
    }

    /// Adds a header field.
    ///
    /// A control character in the value becomes a space, so that no value can begin another field.
    ///
    /// - Parameter name: as it is written.
    public mutating func add(_ name: StaticString, _ value: String) {
        let isPlain = value.utf8.allSatisfy(\.isValueCharacter)
        let value =
            isPlain
            ? value
            : String(
                decoding: value.utf8.map { $0.isValueCharacter ? $0 : .space }, as: UTF8.self)
        fields.append(Fields.Field(name: name.description, value: value))
    }
}

extension ByteWriter {
    /// Writes a head and the empty line behind it.
    ///
    /// - Parameter date: the time of the response as RFC 9110, section 5.6.7 wants it.
    public mutating func write(_ head: ResponseHead, date: String) {
        write(ascii: "HTTP/1.1 \(head.status.rawValue) \(head.status.reason)\r\n")
        write(field: "Date", date)
        for field in head.fields { write(field: field.name, field.value) }
        switch head.body {
        case .length(let length) where !head.status.isWithoutBody:
            write(field: "Content-Length", "\(length)")
        case .length, .upgrade: break
        case .chunked: write(field: "Transfer-Encoding", "chunked")
        }
        if head.closes { write(field: "Connection", "close") }
        write(ascii: "\r\n")
    }

    /// Writes a part of a chunked body; empty parts write nothing, since an empty chunk ends it.
    public mutating func write(chunk: UnsafeRawBufferPointer) {
        guard !chunk.isEmpty else { return }
        write(ascii: String(chunk.count, radix: 16) + "\r\n")
        write(raw: chunk)
        write(ascii: "\r\n")
    }

    /// Writes the end of a chunked body.
    public mutating func writeLastChunk() { write(ascii: "0\r\n\r\n") }

    private mutating func write(field name: String, _ value: String) {
        write(ascii: name)
        write(ascii: ": ")
        write(ascii: value)
        write(ascii: "\r\n")
    }

    private mutating func write(ascii text: String) { write(raw: text.utf8) }
}
