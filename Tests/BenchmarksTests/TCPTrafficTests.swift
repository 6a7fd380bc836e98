import Glibc
import Testing

@testable import Benchmarks

@Suite struct TCPTrafficTests {
    @Test func `what both ends of a connection have received is counted, and no other's`() throws {
        let (near, far) = try connectedPair()
        let (otherNear, otherFar) = try connectedPair()
        defer { for end in [near, far, otherNear, otherFar] { close(end) } }
        let port = port(of: far)
        let before = try TCPTraffic(ports: [port])
        #expect(before.sockets == 2)
        #expect(before.receivedBytes == 0)
        try pass(1_234, from: near, to: far)
        try pass(66, from: far, to: near)
        try pass(5_000, from: otherNear, to: otherFar)
        #expect(try TCPTraffic(ports: [port]).receivedBytes == 1_300)
    }

    private func pass(_ count: Int, from source: Int32, to target: Int32) throws {
        var bytes = [UInt8](repeating: 7, count: count)
        try #require(write(source, bytes, count) == count)
        try #require(recv(target, &bytes, count, Int32(MSG_WAITALL)) == count)
    }

    private func port(of descriptor: Int32) -> UInt16 {
        var address = sockaddr_in()
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let code = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                getsockname(descriptor, $0, &size)
            }
        }
        #expect(code == 0)
        return UInt16(bigEndian: address.sin_port)
    }
}
