/// The parser of the HTTP requests on one connection, without I/O.
///
/// Bytes may arrive in pieces of any size. A body is passed on as it arrives and is never buffered;
/// of a head, at most `HTTPLimits.headBytesMax` bytes are buffered.
public struct RequestReader: Sendable {
    /// A part of an HTTP request that has arrived.
    public enum Event {
        case head(RequestHead)
        /// Bytes of the body; valid as long as the input buffer is.
        case body(Slice<UnsafeRawBufferPointer>)
        /// The end of the request, even of a request without a body.
        case end
    }

    private enum State: Sendable {
        case head
        /// The number of bytes of the body that have not arrived yet.
        case length(UInt64)
        case chunked(ChunkReader)
        case failed
    }

    private var state = State.head
    /// The bytes of the request's head that have arrived.
    private var head: [UInt8] = []

    public init() {}

    /// Whether no byte of a next request has arrived.
    public var isBetweenRequests: Bool {
        if case .head = state { head.isEmpty } else { false }
    }

    /// Returns the next part of an HTTP request, and removes its bytes from `bytes`; nil if more
    /// bytes are needed.
    ///
    /// - Throws: the error to answer before the connection is closed; later input is ignored.
    public mutating func next(
        _ bytes: inout Slice<UnsafeRawBufferPointer>
    ) throws(HTTPError) -> Event? {
        do throws(HTTPError) {
            return try read(&bytes)
        } catch {
            state = .failed
            head = []
            throw error
        }
    }

    private mutating func read(
        _ bytes: inout Slice<UnsafeRawBufferPointer>
    ) throws(HTTPError) -> Event? {
        switch state {
        case .head: return try readHead(&bytes).map(Event.head)
        case .length(0):
            state = .head
            return .end
        case .length(let rest):
            guard !bytes.isEmpty else { return nil }
            let part = bytes.prefix(Int(clamping: rest))
            bytes = bytes.dropFirst(part.count)
            state = .length(rest - UInt64(part.count))
            return .body(part)
        case .chunked(var chunks):
            let part = try chunks.next(&bytes)
            state = chunks.isAtEnd ? .length(0) : .chunked(chunks)
            if let part { return .body(part) }
            return chunks.isAtEnd ? try read(&bytes) : nil
        case .failed:
            bytes = bytes.dropFirst(bytes.count)
            return nil
        }
    }

    /// Reads up to the end of a request's head; nil if it has not arrived.
    private mutating func readHead(
        _ bytes: inout Slice<UnsafeRawBufferPointer>
    ) throws(HTTPError) -> RequestHead? {
        // Most heads arrive as a whole, and are parsed where they are.
        if head.isEmpty, let count = completeHead(in: UnsafeRawBufferPointer(rebasing: bytes)) {
            let head = bytes.prefix(count)
            bytes = bytes.dropFirst(count)
            return try parse(UnsafeRawBufferPointer(rebasing: head))
        }
        while let end = bytes.firstIndex(of: .lineFeed) {
            let line = bytes[...end]
            bytes = bytes[(end + 1)...]
            try append(line)
            guard head.count >= 2, head[head.count - 2] == .carriageReturn else {
                throw HTTPError(.badRequest, "Each line has to end with CR LF")
            }
            guard head.suffix(4).elementsEqual("\r\n\r\n".utf8) else {
                // RFC 9112, section 2.2, lets a server skip an empty line before a request, but not
                // every server does.
                guard head.count > 2 else {
                    throw HTTPError(.badRequest, "A request has to begin with a request line")
                }
                continue
            }
            return try finishHead()
        }
        try append(bytes)
        bytes = bytes.dropFirst(bytes.count)
        return nil
    }

    private mutating func append(_ part: Slice<UnsafeRawBufferPointer>) throws(HTTPError) {
        guard head.count + part.count <= HTTPLimits.headBytesMax else {
            let isLine = !head.contains(.lineFeed)
            throw HTTPError(
                isLine ? .targetTooLong : .fieldsTooLarge,
                "A request's head has at most \(HTTPLimits.headBytesMax) bytes")
        }
        head += part
    }

    private mutating func finishHead() throws(HTTPError) -> RequestHead {
        let result = head.withUnsafeBytes { bytes in
            Result { () throws(HTTPError) in try parse(bytes) }
        }
        head.removeAll(keepingCapacity: true)
        return try result.get()
    }

    /// Parses a head that ends with an empty line, and expects its body next.
    private mutating func parse(_ bytes: UnsafeRawBufferPointer) throws(HTTPError) -> RequestHead {
        let request = try RequestHead(UnsafeRawBufferPointer(rebasing: bytes.dropLast(2)))
        switch request.body {
        case .length(let length): state = .length(length)
        case .chunked: state = .chunked(ChunkReader())
        }
        return request
    }
}

/// Returns the number of bytes of the head that `bytes` begin with, its empty line included.
///
/// Returns nil for a head that has not arrived as a whole, has too many bytes, or has a line that
/// does not end with CR LF; `RequestReader` then reads it line by line.
private func completeHead(in bytes: UnsafeRawBufferPointer) -> Int? {
    var start = 0
    while let end = bytes.lineEnd(from: start), end < HTTPLimits.headBytesMax {
        guard end > start, bytes[end - 1] == .carriageReturn else { return nil }
        if end == start + 1 { return start > 0 ? end + 1 : nil }
        start = end + 1
    }
    return nil
}
