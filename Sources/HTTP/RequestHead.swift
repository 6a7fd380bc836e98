/// The request line and the header fields of an HTTP request.
public struct RequestHead: Hashable, Sendable {
    /// The way in which the end of a request's body is marked: by its length or by chunks.
    public enum Body: Hashable, Sendable {
        /// The number of bytes of the body; 0 for no body.
        case length(UInt64)
        case chunked
    }

    public let method: Method
    public let target: RequestTarget
    public let fields: Fields
    public let body: Body
    /// Whether the connection may be used for another request; always false for HTTP/1.0.
    public let keepsAlive: Bool
    /// Whether the client waits for the response `100 Continue` before it sends the body.
    public let expectsContinue: Bool

    public var hasBody: Bool { body != .length(0) }

    /// The `Sec-WebSocket-Key` of a WebSocket handshake (RFC 6455, section 4.2.1); nil for any
    /// other request.
    ///
    /// - Throws: 400 for an incomplete handshake, 426 for a WebSocket version other than 13.
    public func webSocketKey() throws(HTTPError) -> String? {
        guard fields.elements(of: "upgrade").contains("websocket") else { return nil }
        guard method == .get, !hasBody, keepsAlive,
            fields.elements(of: "connection").contains("upgrade"),
            let key = try fields.only("sec-websocket-key"), key.utf8.count == 24,
            key.hasSuffix("==")
        else { throw HTTPError(.badRequest, "The handshake of the WebSocket is not complete") }
        guard try fields.only("sec-websocket-version") == "13" else {
            throw HTTPError(.upgradeRequired, "Only version 13 of WebSocket is supported")
        }
        return key
    }
}

extension RequestHead {
    /// Parses the head of an HTTP request.
    ///
    /// The rules are stricter than RFC 9112 wherever two parsers could find different ends of the
    /// request, which would let a client smuggle a request past a proxy.
    ///
    /// - Parameter bytes: the lines of the head, each ended by CR LF, without the empty line.
    init(_ bytes: UnsafeRawBufferPointer) throws(HTTPError) {
        var lines = HeadLines(bytes)
        guard let first = lines.next() else {
            throw HTTPError(.badRequest, "A request has to begin with a request line")
        }
        let line = try RequestLine(first)
        var fields = Fields()
        while let line = lines.next() {
            guard fields.count < HTTPLimits.fieldsMax else {
                throw HTTPError(
                    .fieldsTooLarge, "A request has at most \(HTTPLimits.fieldsMax) header fields")
            }
            try fields.append(line: line)
        }
        try self.init(line, fields)
    }

    private init(_ line: RequestLine, _ fields: Fields) throws(HTTPError) {
        let hosts = fields.values(of: "host").count
        guard hosts == 1 || hosts == 0 && line.minorVersion == 0 else {
            throw HTTPError(.badRequest, "A request needs exactly one Host")
        }
        let connection = fields.elements(of: "connection")
        method = line.method
        target = line.target
        self.fields = fields
        body = try RequestHead.body(fields, line.minorVersion)
        keepsAlive = line.minorVersion == 1 && !connection.contains("close")
        expectsContinue = try RequestHead.expectsContinue(fields, line.minorVersion)
    }

    private static func body(_ fields: Fields, _ minorVersion: UInt8) throws(HTTPError) -> Body {
        let length = try fields.only("content-length")
        guard let coding = try fields.only("transfer-encoding") else {
            return .length(try length.map(contentLength) ?? 0)
        }
        guard length == nil else {
            throw HTTPError(
                .badRequest, "Content-Length and Transfer-Encoding exclude each other")
        }
        guard minorVersion == 1 else {
            throw HTTPError(.badRequest, "HTTP/1.0 has no Transfer-Encoding")
        }
        guard coding.lowercased() == "chunked" else {
            throw HTTPError(.notImplemented, "The only supported Transfer-Encoding is chunked")
        }
        return .chunked
    }

    private static func contentLength(_ text: String) throws(HTTPError) -> UInt64 {
        guard (1...18).contains(text.utf8.count), text.utf8.allSatisfy(\.isDigit),
            let length = UInt64(text)
        else { throw HTTPError(.badRequest, "Content-Length has to be a number") }
        return length
    }

    private static func expectsContinue(
        _ fields: Fields, _ minorVersion: UInt8
    ) throws(HTTPError) -> Bool {
        guard let expected = try fields.only("expect"), minorVersion == 1 else { return false }
        guard expected.lowercased() == "100-continue" else {
            throw HTTPError(.expectationFailed, "The only supported Expect is 100-continue")
        }
        return true
    }
}

/// The first line of an HTTP request: method, target and version.
private struct RequestLine {
    let method: Method
    let target: RequestTarget
    /// The minor version of HTTP/1.x: 0 or 1.
    let minorVersion: UInt8

    init(_ line: Slice<UnsafeRawBufferPointer>) throws(HTTPError) {
        guard line.count <= HTTPLimits.requestLineBytesMax else {
            throw HTTPError(
                .targetTooLong,
                "A request line has at most \(HTTPLimits.requestLineBytesMax) bytes")
        }
        let words = line.split(separator: .space, omittingEmptySubsequences: false)
        guard words.count == 3, !words[0].isEmpty, words[0].allSatisfy(\.isTokenCharacter) else {
            throw HTTPError(
                .badRequest, "A request line has a method, a target and a version")
        }
        minorVersion = try RequestLine.minorVersion(words[2])
        method = Method(rawValue: String(decoding: words[0], as: UTF8.self))
        target = try RequestTarget(words[1])
    }

    private static func minorVersion(
        _ word: Slice<UnsafeRawBufferPointer>
    ) throws(HTTPError) -> UInt8 {
        if word.elementsEqual("HTTP/1.1".utf8) { return 1 }
        if word.elementsEqual("HTTP/1.0".utf8) { return 0 }
        guard word.starts(with: "HTTP/".utf8) else {
            throw HTTPError(
                .badRequest, "A request line has a method, a target and a version")
        }
        throw HTTPError(.versionNotSupported, "The supported versions are HTTP/1.1 and HTTP/1.0")
    }
}

/// The lines of an HTTP head, each ended by CR LF.
private struct HeadLines {
    private let bytes: UnsafeRawBufferPointer
    private var start = 0

    init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    /// Returns the next line without its CR LF; nil after the last line.
    mutating func next() -> Slice<UnsafeRawBufferPointer>? {
        guard start < bytes.count else { return nil }
        let end = bytes.lineEnd(from: start) ?? bytes.count
        defer { start = end + 1 }
        return bytes[start..<max(start, end - 1)]
    }
}
