import Wire

/// The error for an invalid WebSocket frame, with the code with which to close the connection.
public struct WebSocketError: Error, Hashable, Sendable {
    public let code: WebSocketCloseCode
    /// The error message for the developer of the client.
    public let message: String

    init(_ code: WebSocketCloseCode, _ message: String) {
        self.code = code
        self.message = message
    }
}

/// The parser of a client's WebSocket frames (RFC 6455), without I/O.
///
/// Bytes may arrive in pieces of any size. At most one message and one control frame are buffered.
public struct WebSocketReader: Sendable {
    /// A WebSocket message or control frame.
    public enum Event: Hashable, Sendable {
        /// A text message in valid UTF-8.
        case text([UInt8])
        case binary([UInt8])
        case ping([UInt8])
        case pong([UInt8])
        /// The client closes the connection; nil if it gives no code.
        case close(WebSocketCloseCode?)
    }

    /// The head of a WebSocket frame.
    private struct Head: Sendable {
        let opcode: WebSocketOpcode
        let isLast: Bool
        let length: Int
        /// The four bytes of the frame's mask, twice, with the first byte in the lowest place.
        let mask: UInt64
        /// The number of bytes of the frame's payload that have arrived.
        var count = 0
    }

    /// The maximum size of a control frame's payload, in bytes (RFC 6455, section 5.5).
    static let controlBytesMax = 125

    private let messageBytesMax: Int
    /// The bytes of the next frame's head that have arrived.
    private var headBytes: [UInt8] = []
    private var head: Head?
    private var message: [UInt8] = []
    /// The kind of the message of which only some frames have arrived; nil between messages.
    private var messageOpcode: WebSocketOpcode?
    private var control: [UInt8] = []
    private var hasFailed = false

    /// - Parameter messageBytesMax: the maximum size of a message over all its frames, in bytes.
    public init(messageBytesMax: Int) { self.messageBytesMax = messageBytesMax }

    /// The number of bytes that are buffered until the rest of a message arrives.
    public var heldBytes: Int { headBytes.count + message.count + control.count }

    /// Returns the next WebSocket message or control frame, and removes the parsed bytes from
    /// `bytes`; nil if more bytes are needed.
    ///
    /// - Throws: the error with which to close the connection; later input is ignored.
    public mutating func next(
        _ bytes: inout Slice<UnsafeRawBufferPointer>
    ) throws(WebSocketError) -> Event? {
        do throws(WebSocketError) {
            while !hasFailed {
                if head == nil, try !readHead(&bytes) { return nil }
                guard readPayload(&bytes) else { return nil }
                if let event = try finishFrame() { return event }
            }
        } catch {
            hasFailed = true
            (message, control, headBytes) = ([], [], [])
            throw error
        }
        bytes = bytes.dropFirst(bytes.count)
        return nil
    }

    /// - Returns: whether the frame's head is complete.
    private mutating func readHead(
        _ bytes: inout Slice<UnsafeRawBufferPointer>
    ) throws(WebSocketError) -> Bool {
        while headBytes.count < WebSocketReader.headLength(headBytes) {
            guard let byte = bytes.popFirst() else { return false }
            headBytes.append(byte)
        }
        head = try parsedHead()
        headBytes.removeAll(keepingCapacity: true)
        return true
    }

    /// Returns the length of a frame's head, as far as its first bytes determine it.
    private static func headLength(_ bytes: [UInt8]) -> Int {
        guard bytes.count >= 2 else { return 2 }
        let mask = bytes[1] & 0x80 == 0 ? 0 : 4
        switch bytes[1] & 0x7F {
        case 126: return 4 + mask
        case 127: return 10 + mask
        default: return 2 + mask
        }
    }

    private func parsedHead() throws(WebSocketError) -> Head {
        guard headBytes[0] & 0x70 == 0, let opcode = WebSocketOpcode(rawValue: headBytes[0] & 0x0F)
        else { throw WebSocketError(.protocolError, "No extensions were agreed on") }
        guard headBytes[1] & 0x80 != 0 else {
            throw WebSocketError(.protocolError, "A client has to mask its frames")
        }
        let isLast = headBytes[0] & 0x80 != 0
        let length = try payloadLength()
        if opcode.isControl {
            guard isLast, length <= WebSocketReader.controlBytesMax else {
                throw WebSocketError(
                    .protocolError, "A control frame is whole and has at most 125 bytes")
            }
        } else {
            guard (opcode == .continuation) == (messageOpcode != nil) else {
                throw WebSocketError(
                    .protocolError, "The frames of a message follow each other")
            }
            guard length <= messageBytesMax - message.count else {
                throw WebSocketError(
                    .tooLarge, "A message has at most \(messageBytesMax) bytes")
            }
        }
        let mask = headBytes.suffix(4).reversed().reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
        return Head(opcode: opcode, isLast: isLast, length: length, mask: mask << 32 | mask)
    }

    private func payloadLength() throws(WebSocketError) -> Int {
        let short = Int(headBytes[1] & 0x7F)
        guard short > 125 else { return short }
        let digits = short == 126 ? 2 : 8
        let length = headBytes[2..<2 + digits].reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
        guard length > (short == 126 ? 125 : UInt64(UInt16.max)) else {
            throw WebSocketError(.protocolError, "A length has to be as short as possible")
        }
        return Int(clamping: length)
    }

    /// - Returns: whether the frame's payload is complete.
    private mutating func readPayload(_ bytes: inout Slice<UnsafeRawBufferPointer>) -> Bool {
        guard var head else { return false }
        let part = bytes.prefix(head.length - head.count)
        if head.opcode.isControl {
            WebSocketReader.append(part, to: &control, head)
        } else {
            WebSocketReader.append(part, to: &message, head)
        }
        head.count += part.count
        self.head = head
        bytes = bytes.dropFirst(part.count)
        return head.count == head.length
    }

    /// Appends a part of a frame's payload, and removes the mask from it.
    private static func append(
        _ part: Slice<UnsafeRawBufferPointer>, to payload: inout [UInt8], _ head: Head
    ) {
        let start = payload.count
        payload += part
        // The mask, rotated to the first byte of this part.
        let shift = UInt64(head.count & 3) * 8
        let mask = shift == 0 ? head.mask : head.mask >> shift | head.mask << (64 - shift)
        guard mask != 0 else { return }
        payload.withUnsafeMutableBytes { payload in
            var index = start
            while index + 8 <= payload.count {
                let word = payload.loadUnaligned(fromByteOffset: index, as: UInt64.self)
                let unmasked = UInt64(littleEndian: word) ^ mask
                payload.storeBytes(
                    of: unmasked.littleEndian, toByteOffset: index, as: UInt64.self)
                index += 8
            }
            while index < payload.count {
                let byte = UInt64((index - start) & 7) * 8
                payload[index] ^= UInt8(truncatingIfNeeded: mask >> byte)
                index += 1
            }
        }
    }

    /// - Returns: the message or control frame that the frame completes; nil if more frames of a
    ///   message follow.
    private mutating func finishFrame() throws(WebSocketError) -> Event? {
        guard let frame = head else { return nil }
        head = nil
        guard !frame.opcode.isControl else {
            defer { control = [] }
            return try controlEvent(frame.opcode)
        }
        let opcode = messageOpcode ?? frame.opcode
        guard frame.isLast else {
            messageOpcode = opcode
            return nil
        }
        messageOpcode = nil
        defer { message = [] }
        guard opcode == .text else { return .binary(message) }
        let isPlain = message.withUnsafeBytes { isASCII($0) }
        guard isPlain || String(validating: message, as: UTF8.self) != nil else {
            throw WebSocketError(.notUTF8, "A text has to be UTF-8")
        }
        return .text(message)
    }

    private func controlEvent(_ opcode: WebSocketOpcode) throws(WebSocketError) -> Event {
        switch opcode {
        case .ping: return .ping(control)
        case .pong: return .pong(control)
        default: break
        }
        guard !control.isEmpty else { return .close(nil) }
        guard control.count >= 2 else {
            throw WebSocketError(.protocolError, "The code of a close has two bytes")
        }
        let code = WebSocketCloseCode(rawValue: UInt16(control[0]) << 8 | UInt16(control[1]))
        guard code.mayBeSent else {
            throw WebSocketError(.protocolError, "The code of the close may not be sent")
        }
        guard String(validating: control.dropFirst(2), as: UTF8.self) != nil else {
            throw WebSocketError(.notUTF8, "The reason of a close has to be UTF-8")
        }
        return .close(code)
    }
}
