import Glibc
import NetworkIO
import TLS
import Testing

/// A socket under a test's control, which can send what no honest node would.
final class Caller {
    private let socket: Int32

    init(to address: SocketAddress) throws {
        socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        name.sin_port = address.port.bigEndian
        // No test waits for ever.
        var patience = timeval(tv_sec: 20, tv_usec: 0)
        let size = socklen_t(MemoryLayout<timeval>.size)
        setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, size)
        var noDelay: Int32 = 1
        setsockopt(socket, Int32(IPPROTO_TCP), TCP_NODELAY, &noDelay, socklen_t(4))
        let code = withUnsafeBytes(of: &name) { bytes in
            connect(
                socket, bytes.assumingMemoryBound(to: sockaddr.self).baseAddress,
                socklen_t(MemoryLayout<sockaddr_in>.size))
        }
        try #require(code == 0)
    }

    deinit { close(socket) }

    func say(_ bytes: [UInt8]) {
        _ = send(socket, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    }

    func hangUp() { _ = shutdown(socket, Int32(SHUT_WR)) }

    /// Returns the next bytes; nil at the end.
    func hear() -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: 64 * 1024)
        let count = recv(socket, &bytes, bytes.count, 0)
        return count > 0 ? Array(bytes[..<count]) : nil
    }

    /// Whether the peer has closed the connection, by now or soon; bytes before the end are
    /// ignored.
    func isHungUpOn() -> Bool {
        while hear() != nil {}
        return errno != EAGAIN
    }

    /// Proves that it knows a key, as a node does.
    ///
    /// - Parameter stepBytes: the number of bytes sent at a time.
    /// - Returns: all bytes that it sent.
    func prove(by tls: OpenSSLLayer, stepBytes: Int = .max) throws -> [UInt8] {
        var said: [UInt8] = []
        try tls.begin()
        while true {
            var wire: [UInt8] = []
            tls.takeWire { wire += $0 }
            said += wire
            for start in stride(from: 0, to: wire.count, by: min(stepBytes, max(1, wire.count))) {
                say(Array(wire[start...].prefix(stepBytes)))
            }
            if tls.isUp { return said }
            let heard = try #require(hear())
            try heard.withUnsafeBytes { try tls.receive($0) }
        }
    }

    /// Sends a text through a TLS layer that is up, and returns what comes back through it.
    func echo(_ text: String, by tls: OpenSSLLayer) throws -> String {
        try Array(text.utf8).withUnsafeBytes { try tls.seal($0) }
        var wire: [UInt8] = []
        tls.takeWire { wire += $0 }
        say(wire)
        var heard: [UInt8] = []
        while heard.count < text.utf8.count {
            let bytes = try #require(hear())
            try bytes.withUnsafeBytes { try tls.receive($0) }
            heard += try tls.open()
        }
        return String(decoding: heard, as: UTF8.self)
    }
}
