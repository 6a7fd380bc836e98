import Wire

/// The status line and the header fields of an HTTP response.
public struct ResponseHead: Hashable, Sendable {
    /// The way in which the end of a response's body is marked.
    public enum Body: Hashable, Sendable {
        /// The number of bytes of the body.
        case length(UInt64)
        /// Chunks, which `ByteWriter.write(chunk:)` encodes.
        case chunked
        /// The end of the connection: another protocol or an endless stream follows the head.
        case upgrade
    }

    public let status: HTTPStatus
    public var body: Body
    /// Whether the connection is closed after the response.
    public var closes = false
    /// The lines of the header fields, each ended by CR LF.
    private(set) var fields: [UInt8] = []

    public init(_ status: HTTPStatus, body: Body = .length(0)) {
        self.status = status
        self.body = body
        fields.reserveCapacity(ResponseHead.fieldBytes)
    }

    /// The bytes that most heads need for their fields.
    private static let fieldBytes = 640

    /// Adds a header field to the response.
    ///
    /// A control character in the value becomes a space, so that no value can start another field.
    ///
    /// - Parameter name: the name of the field, spelt as it is sent.
    public mutating func add(_ name: StaticString, _ value: String) {
        name.withUTF8Buffer { fields.append(contentsOf: $0) }
        fields += ": ".utf8
        let start = fields.count
        fields += value.utf8
        for index in start..<fields.count where !fields[index].isValueCharacter {
            fields[index] = .space
        }
        fields += "\r\n".utf8
    }
}

extension ByteWriter {
    /// Writes the head of an HTTP response and the empty line after it.
    ///
    /// - Parameter date: the time of the response in the format of RFC 9110, section 5.6.7.
    public mutating func write(_ head: ResponseHead, date: String) {
        write(ascii: "HTTP/1.1 ")
        write(ascii: String(head.status.rawValue))
        write(ascii: " ")
        write(ascii: head.status.reason)
        write(ascii: "\r\n")
        write(field: "Date", date)
        head.fields.withUnsafeBytes { write(raw: $0) }
        switch head.body {
        case .length(let length) where !head.status.isWithoutBody:
            write(field: "Content-Length", String(length))
        case .length, .upgrade: break
        case .chunked: write(field: "Transfer-Encoding", "chunked")
        }
        if head.closes { write(field: "Connection", "close") }
        write(ascii: "\r\n")
    }

    /// Writes a chunk of a chunked body, or nothing if it is empty, because an empty chunk ends the
    /// body.
    public mutating func write(chunk: UnsafeRawBufferPointer) {
        guard !chunk.isEmpty else { return }
        write(ascii: String(chunk.count, radix: 16) + "\r\n")
        write(raw: chunk)
        write(ascii: "\r\n")
    }

    /// Writes the empty chunk that ends a chunked HTTP body.
    public mutating func writeLastChunk() { write(ascii: "0\r\n\r\n") }

    private mutating func write(field name: String, _ value: String) {
        write(ascii: name)
        write(ascii: ": ")
        write(ascii: value)
        write(ascii: "\r\n")
    }

    private mutating func write(ascii text: String) { write(raw: text.utf8) }
}
