import Crypto
import HTTP
import Node
import NodeKit
import Session
import Wire

@testable import Gateway

/// The bytes that were written to a client of a script.
final class CorpusOutput: SessionOutput {
    nonisolated(unsafe) private var bytes: [UInt8] = []
    nonisolated(unsafe) private(set) var isClosed = false

    func write(_ bytes: [UInt8]) { self.bytes += bytes }
    func flush() {}
    var queuedBytes: Int { 0 }
    nonisolated(unsafe) private(set) var isPaused = false
    func setReadingPaused(_ isPaused: Bool) { self.isPaused = isPaused }
    func finish() { isClosed = true }
    func abort() { isClosed = true }

    func takeBytes() -> [UInt8] {
        defer { bytes = [] }
        return bytes
    }
}

/// A client of a node in memory, which a script has send requests.
protocol CorpusClient: AnyObject {
    /// Sends a request, as a line of the script writes it.
    func send(_ text: String)
    /// Returns the lines received since the last call.
    func heard() -> [String]
    /// Ends the connection.
    func close()
}

/// A client that sends lines.
final class CorpusLineClient: CorpusClient {
    private let client: TestClient

    init(_ client: TestClient) { self.client = client }

    func send(_ text: String) { client.feed(unescaped(text) + "\n") }

    func heard() -> [String] {
        let bytes = client.output.assumeIsolated { $0.take() }
        let end = client.isAborted ? ["(aborted)"] : client.isFinished ? ["(closed)"] : []
        return lines(of: bytes) + end
    }

    func close() { client.end() }
}

/// A client that sends requests over HTTP, and opens a connection anew where one was closed.
final class CorpusAppClient: CorpusClient {
    private let port: CorpusPort
    private let executor: any SerialExecutor
    private let clock: any Clock
    private let signer: CorpusSigner
    private let nextID: () -> UInt64
    private var output = CorpusOutput()
    private var connection: AppConnection?

    init(
        of port: CorpusPort, on executor: any SerialExecutor, clock: any Clock,
        signer: CorpusSigner, nextID: @escaping () -> UInt64
    ) {
        (self.port, self.executor, self.clock) = (port, executor, clock)
        (self.signer, self.nextID) = (signer, nextID)
    }

    func send(_ text: String) {
        feed(text.hasPrefix("raw ") ? rawRequest(text.dropFirst(4)) : request(text))
    }

    /// Writes a request that stands as it is, with the access token of a user for `@USER@`.
    private func rawRequest(_ text: Substring) -> [UInt8] {
        let signed = text.replacing(/@(\w+)@/) { signer.token(of: String($0.output.1)) }
        return Array(unescaped(signed).utf8)
    }

    /// Writes `METHOD TARGET [as=USER] [+Name:value]… [body]` as a request.
    private func request(_ text: String) -> [UInt8] {
        var words = text.split(separator: " ", omittingEmptySubsequences: false)[...]
        let (method, target) = (words.removeFirst(), words.popFirst() ?? "/")
        var head = "\(method) \(target) HTTP/1.1\r\nHost: chat\r\n"
        var hasType = false
        while let word = words.first {
            if word.hasPrefix("as=") {
                head += "Authorization: Bearer \(signer.token(of: String(word.dropFirst(3))))\r\n"
            } else if word.hasPrefix("+"), let colon = word.firstIndex(of: ":") {
                let name = word[..<colon].dropFirst()
                hasType = hasType || name == "Content-Type"
                head += "\(name): \(unescaped(word[word.index(after: colon)...]))\r\n"
            } else {
                break
            }
            words.removeFirst()
        }
        guard !words.isEmpty else { return Array((head + "\r\n").utf8) }
        let body = Array(unescaped(words.joined(separator: " ")).utf8)
        if !hasType { head += "Content-Type: application/json\r\n" }
        return Array((head + "Content-Length: \(body.count)\r\n\r\n").utf8) + body
    }

    func feed(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { bytes in
            nonisolated(unsafe) let bytes = bytes
            open().assumeIsolated { $0.onBytes(bytes) }
        }
    }

    private func open() -> AppConnection {
        if let connection, !output.isClosed { return connection }
        output = CorpusOutput()
        let opened = AppConnection(
            nextID(), host: port, clock: clock, output: output, executor: executor,
            peer: "10.0.0.1:5000")
        port.assumeIsolated { $0.add(opened) }
        connection = opened
        return opened
    }

    var isReadingPaused: Bool { output.isPaused }

    func takeBytes() -> [UInt8] {
        let bytes = output.takeBytes()
        if !bytes.isEmpty, let connection { connection.assumeIsolated { $0.onDrained() } }
        return bytes
    }

    func heard() -> [String] { lines(of: takeBytes()) + (takeClosed() ? ["(closed)"] : []) }

    func close() {
        if let connection { port.assumeIsolated { $0.remove(connection) } }
        connection = nil
    }

    /// Whether the connection was closed since the last call.
    func takeClosed() -> Bool {
        guard output.isClosed, let closed = connection else { return false }
        port.assumeIsolated { $0.remove(closed) }
        connection = nil
        return true
    }
}

/// A client of a WebSocket.
final class CorpusSocketClient: CorpusClient {
    private let client: CorpusAppClient
    private var isOpen = false
    private var unread: [UInt8] = []

    /// - Parameter words: what follows the path of the handshake's request.
    init(_ client: CorpusAppClient, opening words: String) {
        self.client = client
        client.send(
            "GET /v1/socket \(words) +Connection:Upgrade +Upgrade:websocket "
                + "+Sec-WebSocket-Version:13 +Sec-WebSocket-Key:AAAAAAAAAAAAAAAAAAAAAA==")
    }

    func send(_ text: String) {
        let payload = Array(unescaped(text).utf8)
        var frame: [UInt8] = [0x81]
        switch payload.count {
        case ..<126: frame.append(0x80 | UInt8(payload.count))
        case ..<0x10000:
            frame += [0xFE, UInt8(payload.count >> 8), UInt8(payload.count & 0xFF)]
        default:
            frame.append(0xFF)
            frame += (0..<8).reversed().map { UInt8(truncatingIfNeeded: payload.count >> ($0 * 8)) }
        }
        // A mask of zeros leaves the payload readable.
        client.feed(frame + [0, 0, 0, 0] + payload)
    }

    func heard() -> [String] {
        unread += client.takeBytes()
        var found: [String] = []
        if !isOpen, let end = unread.firstRange(of: Array("\r\n\r\n".utf8)) {
            found += lines(of: Array(unread[..<end.upperBound]))
            isOpen = found.first?.contains(" 101 ") ?? false
            unread.removeFirst(end.upperBound)
        }
        if !isOpen {
            found += lines(of: unread)
            unread = []
        }
        while isOpen, let frame = takeFrame() { found.append(frame) }
        guard client.takeClosed() else { return found }
        isOpen = false
        return found + ["(closed)"]
    }

    func close() { client.close() }

    private func takeFrame() -> String? {
        guard unread.count >= 2 else { return nil }
        var (length, head) = (Int(unread[1] & 0x7F), 2)
        let wide = length == 126 ? 2 : length == 127 ? 8 : 0
        if wide > 0 {
            guard unread.count >= 2 + wide else { return nil }
            length = unread[2..<2 + wide].reduce(0) { $0 << 8 | Int($1) }
            head += wide
        }
        guard unread.count >= head + length else { return nil }
        let payload = Array(unread[head..<head + length])
        let (first, isMasked) = (unread[0], unread[1] & 0x80 != 0)
        unread.removeFirst(head + length)
        // A whole text, as nearly all are.
        if first == 0x81, !isMasked { return readable(payload) }
        guard first == 0x88, !isMasked, payload.count >= 2 else {
            return "(frame \(first)\(isMasked ? ", masked" : ""): \(readable(payload)))"
        }
        let code = Int(payload[0]) << 8 | Int(payload[1])
        return "(close \(code) \(readable(Array(payload[2...]))))"
    }
}

/// The access tokens of a script: an app's own, signed here, or those that answers contained.
final class CorpusSigner {
    /// The key of HS256 with which it signs; nil never occurs.
    static let keySet: KeySet? = {
        let key = #"{"kty":"oct","k":"MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY"}"#
        do throws(KeySet.Unusable) {
            return try KeySet(reading: Array(key.utf8))
        } catch {
            return nil
        }
    }()

    private let secret = Array("0123456789abcdef0123456789abcdef".utf8)
    /// The values that the script has kept, by name.
    var values: [String: String] = [:]

    /// Returns the token of a user: one that the script has kept, or one that expires in 2100.
    func token(of name: String) -> String {
        if let kept = values[name] { return kept }
        let header = Array(#"{"alg":"HS256","typ":"JWT"}"#.utf8)
        let claims = Array(#"{"sub":"\#(name)","exp":4102444800}"#.utf8)
        let message = Base64.encode(header) + "." + Base64.encode(claims)
        return message + "." + Base64.encode(Digest.hmacSHA256(message.utf8, key: secret))
    }
}

/// Splits received bytes into readable lines; the last one says so where no line feed ends it.
private func lines(of bytes: [UInt8]) -> [String] {
    guard !bytes.isEmpty else { return [] }
    var parts = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    let rest = parts.removeLast()
    let found = parts.map { readable(Array($0)) }
    return rest.isEmpty ? found : found + [readable(Array(rest)) + "␄"]
}

/// The first of the characters that stand for control characters (`␀`).
private let controlPictures: UInt32 = 0x2400

/// Writes bytes as text, a control character as its picture, and what is not UTF-8 as numbers.
private func readable(_ bytes: [UInt8]) -> String {
    guard let text = String(validating: bytes, as: UTF8.self) else { return "(bytes \(bytes))" }
    var result = ""
    for scalar in text.unicodeScalars {
        let shown = scalar.value < 0x20 ? Unicode.Scalar(controlPictures + scalar.value) : scalar
        result.unicodeScalars.append(shown ?? scalar)
    }
    return result
}

/// Reads the pictures of control characters, and `«N*TEXT»`, which stands for N times a text.
func unescaped(_ text: some StringProtocol) -> String {
    var result = ""
    var rest = Array(text.unicodeScalars)[...]
    while let scalar = rest.popFirst() {
        if scalar == "«", let end = rest.firstIndex(of: "»") {
            let parts = rest[..<end].split(separator: "*", maxSplits: 1).map { part in
                String(String.UnicodeScalarView(part))
            }
            guard parts.count == 2, let count = Int(parts[0]) else {
                preconditionFailure("a repeated text is «N*TEXT»")
            }
            result += String(repeating: parts[1], count: count)
            rest = rest[(end + 1)...]
        } else if (controlPictures..<controlPictures + 0x20).contains(scalar.value),
            let control = Unicode.Scalar(scalar.value - controlPictures)
        {
            result.unicodeScalars.append(control)
        } else {
            result.unicodeScalars.append(scalar)
        }
    }
    return result
}
