import Glibc
import NetworkIO

/// The free ports of this machine that the nodes of a run get, each once: until a node listens, its
/// port looks free.
struct FreePorts {
    private var taken: Set<UInt16> = []

    /// Returns the address of a port below the ephemeral ones, so that a node that is down for a
    /// while finds it free again.
    mutating func next() throws(BenchError) -> SocketAddress {
        for _ in 0..<200 {
            let port = UInt16.random(in: 15_000..<32_000)
            guard isFree(port), let address = SocketAddress("127.0.0.1:\(port)"),
                taken.insert(port).inserted
            else { continue }
            return address
        }
        throw BenchError("no free port between 15000 and 32000")
    }

    private func isFree(_ port: UInt16) -> Bool {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let size = socklen_t(MemoryLayout<sockaddr_in>.size)
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, size) == 0
            }
        }
    }
}
