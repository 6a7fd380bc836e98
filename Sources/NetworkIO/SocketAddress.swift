import CLibuv
import Glibc

/// A numeric IP address and a port; nothing here ever queries a name server.
package struct SocketAddress: Hashable, Sendable {
    enum Host: Hashable {
        /// In host byte order.
        case version4(UInt32)

        /// The 16 bytes as two big-endian halves.
        case version6(high: UInt64, low: UInt64)
    }

    let host: Host
    package let port: UInt16

    /// Parses `127.0.0.1:7101`, `[::1]:7101` or `localhost:7101` (which means 127.0.0.1).
    ///
    /// Port 0 is valid too: with it a listener requests any free port.
    package init?(_ text: String) {
        guard let colon = text.lastIndex(of: ":") else { return nil }
        let digits = text[text.index(after: colon)...]
        // `UInt16` alone would accept "+7101".
        guard digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let port = UInt16(digits)
        else { return nil }
        guard let host = Self.host(text[..<colon]) else { return nil }
        self.host = host
        self.port = port
    }

    /// Reads the address that a call like `getpeername` fills in.
    init(
        doing: String,
        _ fill: (UnsafeMutablePointer<sockaddr>?, UnsafeMutablePointer<Int32>) -> Int32
    ) throws(NetworkError) {
        var storage = sockaddr_storage()
        var count = Int32(MemoryLayout<sockaddr_storage>.size)
        let code = withUnsafeMutableBytes(of: &storage) {
            fill($0.assumingMemoryBound(to: sockaddr.self).baseAddress, &count)
        }
        try NetworkError.check(code, doing: doing)
        let read = withUnsafeBytes(of: storage) { bytes -> (Host, UInt16)? in
            switch Int32(storage.ss_family) {
            case AF_INET:
                let name = bytes.load(as: sockaddr_in.self)
                let host = Host.version4(UInt32(bigEndian: name.sin_addr.s_addr))
                return (host, UInt16(bigEndian: name.sin_port))
            case AF_INET6:
                let name = bytes.load(as: sockaddr_in6.self)
                return (Self.host(name.sin6_addr), UInt16(bigEndian: name.sin6_port))
            default:
                return nil
            }
        }
        guard let read else { throw .other(code: UV_EAFNOSUPPORT.rawValue, doing: doing) }
        (host, port) = read
    }

    /// Copies an address that the system or a library has filled in; nil where it is none of IP.
    package init?(_ name: UnsafePointer<sockaddr>, byteCount: Int) {
        do throws(NetworkError) {
            try self.init(doing: "reading an address") { storage, size in
                guard let storage, byteCount <= Int(size.pointee) else { return -EINVAL }
                UnsafeMutableRawPointer(storage).copyMemory(from: name, byteCount: byteCount)
                return 0
            }
        } catch {
            // The address is of a family that nothing here dials.
            return nil
        }
    }

    /// Whether it can only be reached from this machine.
    package var isLoopback: Bool {
        switch host {
        case .version4(let address): address >> 24 == 127
        case .version6(high: 0, low: 1): true
        case .version6(high: 0, let low): low >> 24 == 0xffff_7f
        case .version6: false
        }
    }

    /// The host without the port.
    package var hostText: String {
        String(description.prefix(upTo: description.lastIndex(of: ":") ?? description.endIndex))
    }

    /// Whether it means every address of this machine, and so none that others could dial.
    package var isUnspecified: Bool {
        switch host {
        case .version4(0), .version6(high: 0, low: 0): true
        case .version4, .version6: false
        }
    }

    /// Passes the address to `body` in the form that the socket calls take.
    func withPointer<Answer>(_ body: (UnsafePointer<sockaddr>) -> Answer) -> Answer {
        var storage = sockaddr_storage()
        return withUnsafeMutableBytes(of: &storage) { bytes in
            switch host {
            case .version4(let address):
                var name = sockaddr_in()
                name.sin_family = sa_family_t(AF_INET)
                name.sin_port = port.bigEndian
                name.sin_addr.s_addr = address.bigEndian
                bytes.storeBytes(of: name, as: sockaddr_in.self)
            case .version6(let high, let low):
                var name = sockaddr_in6()
                name.sin6_family = sa_family_t(AF_INET6)
                name.sin6_port = port.bigEndian
                withUnsafeMutableBytes(of: &name.sin6_addr) {
                    $0.storeBytes(of: high.bigEndian, as: UInt64.self)
                    $0.storeBytes(of: low.bigEndian, toByteOffset: 8, as: UInt64.self)
                }
                bytes.storeBytes(of: name, as: sockaddr_in6.self)
            }
            return bytes.withMemoryRebound(to: sockaddr.self) { names in
                guard let name = names.baseAddress else {
                    preconditionFailure("a sockaddr_storage is not empty")
                }
                return body(name)
            }
        }
    }

    private static func host(_ text: Substring) -> Host? {
        if text == "localhost" { return .version4(0x7f00_0001) }
        guard text.first == "[" else {
            var address = in_addr()
            guard inet_pton(AF_INET, String(text), &address) == 1 else { return nil }
            return .version4(UInt32(bigEndian: address.s_addr))
        }
        var address = in6_addr()
        let inner = String(text.dropFirst().dropLast())
        guard text.last == "]", inet_pton(AF_INET6, inner, &address) == 1 else { return nil }
        return host(address)
    }

    private static func host(_ address: in6_addr) -> Host {
        withUnsafeBytes(of: address) {
            .version6(
                high: UInt64(bigEndian: $0.loadUnaligned(as: UInt64.self)),
                low: UInt64(bigEndian: $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
        }
    }
}

extension SocketAddress: CustomStringConvertible {
    /// The text that parses to the same address.
    package var description: String {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        let code = withPointer { uv_ip_name($0, &text, text.count) }
        precondition(code == 0, "the longest address fits into INET6_ADDRSTRLEN")
        let bytes = text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:))
        let name = String(decoding: bytes, as: UTF8.self)
        return switch host {
        case .version4: "\(name):\(port)"
        case .version6: "[\(name)]:\(port)"
        }
    }
}
