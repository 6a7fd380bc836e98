import Glibc

/// The bytes that have arrived on the open TCP connections of some ports of this machine, as the
/// kernel counts them: without headers and retransmissions.
///
/// Queried over netlink (`man 7 sock_diag`), as `ss -i` does.
struct TCPTraffic {
    /// The number of connected sockets whose local or remote port is one of these.
    private(set) var sockets = 0
    /// The bytes at both ends of a connection within this machine, and so in both directions.
    private(set) var receivedBytes: UInt64 = 0

    private let ports: Set<UInt16>
    private var isDone = false

    init(ports: Set<UInt16>) throws(BenchError) {
        self.ports = ports
        let descriptor = socket(AF_NETLINK, Int32(SOCK_DGRAM.rawValue), Kernel.sockDiagFamily)
        guard descriptor >= 0 else { throw Files.failure("asking the kernel about connections") }
        defer { close(descriptor) }
        let request = Kernel.request
        guard send(descriptor, request, request.count, 0) == request.count else {
            throw Files.failure("asking the kernel about connections")
        }
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while !isDone {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            guard count > 0 else { throw Files.failure("hearing of connections") }
            guard buffer.withUnsafeBytes({ add(UnsafeRawBufferPointer(rebasing: $0[..<count])) })
            else { throw BenchError("the kernel does not tell of connections (sock_diag)") }
        }
    }

    /// The kernel's numbers, from `linux/netlink.h`, `sock_diag.h`, `inet_diag.h` and `tcp.h`.
    private enum Kernel {
        static let sockDiagFamily: Int32 = 4
        static let messageDone: UInt16 = 3
        static let byFamily: UInt16 = 20
        static let dumpRequest: UInt16 = 0x301
        static let tcpInfo: UInt16 = 2
        static let connected: UInt32 = 1 << 1
        /// The sizes of a netlink header and of `inet_diag_msg`.
        static let headerBytes = 16
        static let socketBytes = 72
        /// The offset of `tcpi_bytes_received` in `tcp_info`.
        static let receivedStart = 128

        /// A header and an `inet_diag_req_v2` for every connected TCP socket, with its info.
        static var request: [UInt8] {
            let requestBytes = headerBytes + 56
            var bytes = words(UInt32(requestBytes)) + words(byFamily) + words(dumpRequest)
            bytes += [UInt8](repeating: 0, count: 8)
            bytes += [UInt8(AF_INET), UInt8(IPPROTO_TCP), 1 << (tcpInfo - 1), 0] + words(connected)
            return bytes + [UInt8](repeating: 0, count: requestBytes - bytes.count)
        }

        private static func words(_ value: some FixedWidthInteger) -> [UInt8] {
            withUnsafeBytes(of: value) { Array($0) }
        }
    }

    /// - Returns: false if the bytes are no answer.
    private mutating func add(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var rest = bytes[...]
        while rest.count >= Kernel.headerBytes {
            let message = UnsafeRawBufferPointer(rebasing: rest)
            let length = Int(message.loadUnaligned(as: UInt32.self))
            let kind = message.loadUnaligned(fromByteOffset: 4, as: UInt16.self)
            guard length >= Kernel.headerBytes, length <= message.count else { return false }
            if kind == Kernel.messageDone {
                isDone = true
                return true
            }
            guard kind == Kernel.byFamily else { return false }
            addSocket(UnsafeRawBufferPointer(rebasing: message[Kernel.headerBytes..<length]))
            rest = rest.dropFirst((length + 3) & ~3)
        }
        return true
    }

    private mutating func addSocket(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count >= Kernel.socketBytes else { return }
        let near = UInt16(bigEndian: bytes.loadUnaligned(fromByteOffset: 4, as: UInt16.self))
        let far = UInt16(bigEndian: bytes.loadUnaligned(fromByteOffset: 6, as: UInt16.self))
        guard ports.contains(near) || ports.contains(far) else { return }
        var start = Kernel.socketBytes
        while start + 4 <= bytes.count {
            let length = Int(bytes.loadUnaligned(fromByteOffset: start, as: UInt16.self))
            let kind = bytes.loadUnaligned(fromByteOffset: start + 2, as: UInt16.self)
            guard length >= 4, start + length <= bytes.count else { return }
            if kind == Kernel.tcpInfo, length >= 4 + Kernel.receivedStart + 8 {
                sockets += 1
                receivedBytes += bytes.loadUnaligned(
                    fromByteOffset: start + 4 + Kernel.receivedStart, as: UInt64.self)
            }
            start += (length + 3) & ~3
        }
    }
}
