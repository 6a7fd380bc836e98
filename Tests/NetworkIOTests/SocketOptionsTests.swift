import CLibuv
import Glibc
import Testing

@testable import NetworkIO

@Suite struct SocketOptionsTests {
    @Test func `a peer that vanished is noticed within two minutes`() {
        let asking = KeepAlive.idleSeconds + KeepAlive.intervalSeconds * KeepAlive.probesMax
        #expect(asking <= 120)
        #expect(KeepAlive.untakenMillisecondsMax <= 120_000)
    }

    @Test func `every connection has them`() throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        try #require(descriptor >= 0)
        let loop = try EventLoop()
        let memory = LoopHandle.allocateTCP(on: loop)
        let tcp = memory.assumingMemoryBound(to: uv_tcp_t.self)
        #expect(uv_tcp_open(tcp, descriptor) == 0)
        try Connection.setOptions(memory)
        func value(_ option: Int32) -> Int32 {
            var value: Int32 = -1
            var size = socklen_t(MemoryLayout<Int32>.size)
            getsockopt(descriptor, Int32(IPPROTO_TCP), option, &value, &size)
            return value
        }
        #expect(value(TCP_NODELAY) == 1)
        #expect(value(TCP_KEEPIDLE) == KeepAlive.idleSeconds)
        #expect(value(TCP_KEEPINTVL) == KeepAlive.intervalSeconds)
        #expect(value(TCP_KEEPCNT) == KeepAlive.probesMax)
        #expect(value(TCP_USER_TIMEOUT) == KeepAlive.untakenMillisecondsMax)
        LoopHandle.discard(memory)
    }
}
