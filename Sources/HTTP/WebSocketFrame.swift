import Wire

/// The code that gives the reason for closing a WebSocket (RFC 6455, section 7.4.1).
public struct WebSocketCloseCode: RawRepresentable, Hashable, Sendable {
    public let rawValue: UInt16

    public init(rawValue: UInt16) { self.rawValue = rawValue }

    public static let normal = WebSocketCloseCode(rawValue: 1000)
    public static let goingAway = WebSocketCloseCode(rawValue: 1001)
    public static let protocolError = WebSocketCloseCode(rawValue: 1002)
    public static let unsupportedData = WebSocketCloseCode(rawValue: 1003)
    public static let notUTF8 = WebSocketCloseCode(rawValue: 1007)
    public static let policy = WebSocketCloseCode(rawValue: 1008)
    public static let tooLarge = WebSocketCloseCode(rawValue: 1009)
    public static let tryAgainLater = WebSocketCloseCode(rawValue: 1013)

    /// Whether an endpoint may send this close code.
    var mayBeSent: Bool {
        switch rawValue {
        case 1000...1003, 1007...1014, 3000...4999: true
        default: false
        }
    }
}

/// The kind of a WebSocket frame.
enum WebSocketOpcode: UInt8, Hashable, Sendable {
    case continuation = 0
    case text = 1
    case binary = 2
    case close = 8
    case ping = 9
    case pong = 10

    var isControl: Bool { rawValue >= 8 }
}

extension ByteWriter {
    /// Writes a text, given in pieces, as one WebSocket message.
    public mutating func write(webSocketText parts: [[UInt8]]) {
        writeHead(.text, count: parts.reduce(0) { $0 + $1.count })
        for part in parts { write(raw: part) }
    }

    /// Writes the head of a WebSocket text message of `count` bytes, which the caller writes
    /// afterwards.
    public mutating func beginWebSocketText(count: Int) { writeHead(.text, count: count) }

    /// Writes a WebSocket ping.
    public mutating func writeWebSocketPing() {
        write(.ping, UnsafeRawBufferPointer(start: nil, count: 0))
    }

    /// Writes a WebSocket pong, the answer to a ping.
    ///
    /// - Parameter payload: the payload of the ping.
    public mutating func write(webSocketPong payload: [UInt8]) {
        payload.withUnsafeBytes { write(.pong, $0) }
    }

    /// Writes the frame that closes a WebSocket.
    ///
    /// - Parameter reason: at most 123 bytes of UTF-8; a longer text is cut off.
    public mutating func write(webSocketClose code: WebSocketCloseCode, _ reason: String) {
        var payload = [UInt8(truncatingIfNeeded: code.rawValue >> 8)]
        payload.append(UInt8(truncatingIfNeeded: code.rawValue))
        for character in reason {
            guard payload.count + character.utf8.count <= WebSocketReader.controlBytesMax else {
                break
            }
            payload += character.utf8
        }
        payload.withUnsafeBytes { write(.close, $0) }
    }

    /// Writes a whole WebSocket frame, unmasked, as servers have to send it.
    private mutating func write(_ opcode: WebSocketOpcode, _ payload: UnsafeRawBufferPointer) {
        writeHead(opcode, count: payload.count)
        write(raw: payload)
    }

    private mutating func writeHead(_ opcode: WebSocketOpcode, count: Int) {
        write(0x80 | opcode.rawValue)
        switch count {
        case ...125: write(UInt8(count))
        case ...Int(UInt16.max):
            write(126 as UInt8)
            write(fixed: UInt16(count))
        default:
            write(127 as UInt8)
            write(fixed: UInt64(count))
        }
    }
}
