import CLibuv
import Glibc

/// How soon a vanished peer is noticed: within two minutes, whether or not anything is on its way.
package enum KeepAlive {
    /// After so long without a word the kernel asks whether the other side is still there, in
    /// seconds.
    package static let idleSeconds: Int32 = 60
    /// It asks again after so long without an answer.
    package static let intervalSeconds: Int32 = 10
    /// After so many questions the connection is reset.
    package static let probesMax: Int32 = 3
    /// What was written and is not taken for so long resets it as well, in milliseconds: a peer
    /// that vanished with bytes on their way, or one that has stopped reading.
    package static let untakenMillisecondsMax: Int32 = 90_000
}

extension Connection {
    /// No waiting for more bytes (replies are batched here), and notice of a peer that vanished.
    static func setOptions(_ memory: UnsafeMutableRawPointer) throws(NetworkError) {
        let tcp = memory.assumingMemoryBound(to: uv_tcp_t.self)
        try NetworkError.check(uv_tcp_nodelay(tcp, 1), doing: "setting TCP_NODELAY")
        let seconds = UInt32(KeepAlive.idleSeconds)
        try NetworkError.check(uv_tcp_keepalive(tcp, 1, seconds), doing: "setting SO_KEEPALIVE")
        var descriptor: Int32 = -1
        let handle = memory.assumingMemoryBound(to: uv_handle_t.self)
        try NetworkError.check(uv_fileno(handle, &descriptor), doing: "asking for a descriptor")
        try set(TCP_KEEPINTVL, KeepAlive.intervalSeconds, on: descriptor)
        try set(TCP_KEEPCNT, KeepAlive.probesMax, on: descriptor)
        try set(TCP_USER_TIMEOUT, KeepAlive.untakenMillisecondsMax, on: descriptor)
    }

    private static func set(
        _ option: Int32, _ value: Int32, on descriptor: Int32
    ) throws(NetworkError) {
        var value = value
        let size = socklen_t(MemoryLayout<Int32>.size)
        guard setsockopt(descriptor, Int32(IPPROTO_TCP), option, &value, size) == 0 else {
            throw NetworkError(-errno, doing: "setting TCP option \(option)")
        }
    }
}
