import CLibuv
import Glibc

/// The options by which a vanished peer is noticed: within two minutes, with or without data on its
/// way.
package enum KeepAlive {
    /// The seconds without traffic after which the kernel probes whether the peer is still there.
    package static let idleSeconds: Int32 = 60
    /// The seconds without an answer after which the kernel probes again.
    package static let intervalSeconds: Int32 = 10
    /// The unanswered probes after which the connection is reset.
    package static let probesMax: Int32 = 3
    /// The milliseconds after which written data that was not taken resets the connection as well:
    /// the peer vanished with data on its way, or it has stopped reading.
    package static let untakenMillisecondsMax: Int32 = 90_000
}

extension Connection {
    /// Turns off the delay of small writes (replies are batched here), and sets `KeepAlive`.
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

    /// Limits what the kernel holds of what was written and not taken, which else may be some MB.
    package func limitUnsentBytes() {
        loop.checkConfined()
        // The kernel doubles it, for its own records.
        var half = Connection.unsentBytesMax / 2
        setsockopt(
            descriptor, SOL_SOCKET, SO_SNDBUF, &half, socklen_t(MemoryLayout<Int32>.size))
    }

    /// The most bytes that the kernel holds for a client.
    package static let unsentBytesMax: Int32 = 256 << 10

    /// Has the kernel give up what the peer has not taken when the connection is closed.
    func dropUnsentBytes() {
        var atOnce = linger(l_onoff: 1, l_linger: 0)
        setsockopt(
            descriptor, SOL_SOCKET, SO_LINGER, &atOnce, socklen_t(MemoryLayout<linger>.size))
    }

    /// Whether the kernel has ended the connection because the peer reset it or vanished.
    var isReset: Bool {
        var info = tcp_info()
        var size = socklen_t(MemoryLayout<tcp_info>.size)
        let code = getsockopt(descriptor, Int32(IPPROTO_TCP), TCP_INFO, &info, &size)
        return code == 0 && Int(info.tcpi_state) == TCP_CLOSE
    }

    var descriptor: Int32 {
        var descriptor: Int32 = -1
        uv_fileno(base, &descriptor)
        return descriptor
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
