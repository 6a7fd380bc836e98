import Glibc

/// The protocol over which a load sends its messages.
enum SendWay: String, Sendable {
    case lines, http, socket

    /// What a connection begins with; its reply is one.
    var opening: [UInt8]? {
        guard self == .socket else { return nil }
        return Array(
            ("GET /v1/socket HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                + "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n"
                + "Authorization: Bearer \(AppIdentity.token(of: "alice"))\r\n\r\n").utf8)
    }

    /// What a WebSocket sends to be told of events.
    static let watchRequest = frame(#"{"id":1,"method":"GET","path":"/v1/events"}"#)

    /// Returns a frame whose mask of zeros leaves the text as it is.
    private static func frame(_ text: String) -> [UInt8] {
        let count = text.utf8.count
        precondition(count <= 0xFFFF, "the length has at most two bytes")
        let length: [UInt8] =
            count < 126
            ? [0x80 | UInt8(count)] : [0x80 | 126, UInt8(count >> 8), UInt8(count & 0xFF)]
        return [0x81] + length + [0, 0, 0, 0] + Array(text.utf8)
    }

    /// Returns a request that sends a text.
    ///
    /// - Parameter id: the id of the message; nil if the node makes it.
    func request(_ conversation: String, id: String?, _ text: String) -> [UInt8] {
        let path = "/v1/conversations/\(conversation)/messages"
        let body = #"{\#(id.map { #""id":"\#($0)","# } ?? "")"text":"\#(text)"}"#
        switch self {
        case .lines:
            return Array("SEND \(conversation) alice\(id.map { " id=\($0)" } ?? "") \(text)\n".utf8)
        case .http:
            return Array(
                ("POST \(path) HTTP/1.1\r\nHost: a\r\n"
                    + "Authorization: Bearer \(AppIdentity.token(of: "alice"))\r\n"
                    + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)").utf8)
        case .socket:
            return Self.frame(#"{"id":1,"method":"POST","path":"\#(path)","body":\#(body)}"#)
        }
    }
}

/// A reader of the replies to a load's requests: it finds their ends, and whether they are good.
struct ReplyCounter {
    private let way: SendWay
    /// The beginning of a reply whose end has not arrived.
    private var rest: [UInt8] = []
    /// Whether the next reply is that of the handshake.
    private var isOpening: Bool

    init(_ way: SendWay) {
        self.way = way
        isOpening = way.opening != nil
    }

    /// Calls `body` with each reply that the bytes complete, and whether it is a good one.
    mutating func read(
        _ bytes: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer, _ isGood: Bool) -> Void
    ) {
        if rest.isEmpty {
            let used = split(bytes, body)
            if used < bytes.count { rest = Array(bytes[used...]) }
        } else {
            var whole: [UInt8] = []
            swap(&whole, &rest)
            whole += bytes
            let used = whole.withUnsafeBytes { split($0, body) }
            rest = Array(whole[used...])
        }
    }

    /// - Returns: the number of bytes of whole replies.
    private mutating func split(
        _ bytes: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer, Bool) -> Void
    ) -> Int {
        var start = 0
        while start < bytes.count {
            let left = UnsafeRawBufferPointer(rebasing: bytes[start...])
            guard let count = length(of: left), count <= left.count else { break }
            let reply = UnsafeRawBufferPointer(rebasing: left[..<count])
            body(reply, isGood(reply))
            isOpening = false
            start += count
        }
        return start
    }

    /// Returns the length of the first reply; nil if too little of it is there.
    private func length(of bytes: UnsafeRawBufferPointer) -> Int? {
        switch way {
        case .lines: return end(of: "\n", in: bytes)
        case .socket where !isOpening:
            guard bytes.count >= 4 else { return nil }
            switch bytes[1] {
            case ..<126: return 2 + Int(bytes[1])
            case 126: return 4 + (Int(bytes[2]) << 8 | Int(bytes[3]))
            default: preconditionFailure("no reply to a send is so long")
            }
        case .http, .socket:
            guard let head = end(of: "\r\n\r\n", in: bytes) else { return nil }
            let fields = UnsafeRawBufferPointer(rebasing: bytes[..<head])
            guard let start = end(of: "Content-Length: ", in: fields) else { return head }
            let digits = bytes[start...].prefix { $0 != 0x0D }
            return head + (Int(String(decoding: digits, as: UTF8.self)) ?? 0)
        }
    }

    private func isGood(_ reply: UnsafeRawBufferPointer) -> Bool {
        switch way {
        case .lines: reply.first == UInt8(ascii: "O")
        case .socket where !isOpening: end(of: "\"status\":200", in: reply) != nil
        case .http, .socket: reply.starts(with: "HTTP/1.1 \(isOpening ? 101 : 200)".utf8)
        }
    }

    /// Returns the index behind the first occurrence of a word.
    private func end(of word: StaticString, in bytes: UnsafeRawBufferPointer) -> Int? {
        let (first, count) = (word.utf8Start, word.utf8CodeUnitCount)
        var start = 0
        while start + count <= bytes.count, let base = bytes.baseAddress,
            let found = memchr(base + start, Int32(first[0]), bytes.count - start - count + 1)
        {
            let place = base.distance(to: UnsafeRawPointer(found))
            if memcmp(base + place, first, count) == 0 { return place + count }
            start = place + 1
        }
        return nil
    }
}
