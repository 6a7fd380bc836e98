import Glibc
import NetworkIO

/// A connection to a node on this machine whose calls wait: the cheapest client there is.
///
/// The thread that uses it does nothing else meanwhile.
final class BlockingConnection {
    /// The limit of the time without progress, in seconds.
    private static let silentSecondsMax = 20
    private static let bufferBytes = 1 << 20

    let descriptor: Int32
    /// Made by the first read: a connection that only proves itself needs none.
    private lazy var buffer = [UInt8](repeating: 0, count: Self.bufferBytes)

    init(to address: SocketAddress) throws(BenchError) {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { throw Files.failure("making a socket") }
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        name.sin_port = address.port.bigEndian
        let size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let code = withUnsafePointer(to: &name) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, size)
            }
        }
        guard code == 0 else { throw Files.failure("connecting to \(address)") }
        setUp()
    }

    deinit { close(descriptor) }

    private func setUp() {
        var isOn: Int32 = 1
        setsockopt(
            descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &isOn,
            socklen_t(MemoryLayout<Int32>.size))
        var patience = timeval(tv_sec: Self.silentSecondsMax, tv_usec: 0)
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            setsockopt(
                descriptor, SOL_SOCKET, option, &patience,
                socklen_t(MemoryLayout<timeval>.size))
        }
    }

    /// Has `close` reset the connection, so that it does not take up its port for a minute.
    func setReset() {
        var now = linger(l_onoff: 1, l_linger: 0)
        setsockopt(
            descriptor, SOL_SOCKET, SO_LINGER, &now, socklen_t(MemoryLayout<linger>.size))
    }

    func send(_ bytes: [UInt8]) throws(BenchError) {
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress.map { $0 + sent }, bytes.count - sent, 0)
            }
            guard count > 0 else { throw Files.failure("sending a request") }
            sent += count
        }
    }

    /// Reads an answer with a `Content-Length`.
    ///
    /// - Returns: its head, and the bytes of its body, which are not kept.
    func readAnswer() throws(BenchError) -> (head: String, bodyBytes: Int) {
        var head: [UInt8] = []
        while true {
            head += try readSome()
            guard let end = head.firstRange(of: Array("\r\n\r\n".utf8)) else { continue }
            let text = String(decoding: head[..<end.lowerBound], as: UTF8.self)
            let field = text.split(separator: "\r\n").first { $0.hasPrefix("Content-Length: ") }
            let length = field.flatMap { Int($0.dropFirst("Content-Length: ".count)) } ?? 0
            var body = head.count - end.upperBound
            while body < length { body += try readSome().count }
            return (text, body)
        }
    }

    /// Reads up to the end of a line that is alone on its way.
    func readLine() throws(BenchError) {
        while try readSome().last != UInt8(ascii: "\n") {}
    }

    private func readSome() throws(BenchError) -> ArraySlice<UInt8> {
        let count = recv(descriptor, &buffer, buffer.count, 0)
        guard count > 0 else { throw Files.failure("reading an answer") }
        return buffer[..<count]
    }
}
