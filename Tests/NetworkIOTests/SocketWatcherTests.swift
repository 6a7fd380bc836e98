import CLibuv
import Glibc
import NetworkIO
import Testing

@Suite struct SocketWatcherTests {
    private let loop: EventLoop
    /// Two sockets that are connected to each other.
    private let ends: [Int32]

    init() throws {
        loop = try EventLoop()
        var ends: [Int32] = [-1, -1]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
        self.ends = ends
        _ = Timer(on: loop, afterMilliseconds: 30_000) { [loop] in
            Issue.record("not over after 30 s")
            loop.stop()
        }
    }

    private func closeEnds() { for end in ends { close(end) } }

    @Test func `it reports what it watches for, and nothing else`() throws {
        defer { closeEnds() }
        var seen: [SocketWatcher.Events] = []
        var watcher: SocketWatcher?
        watcher = try SocketWatcher(ends[0], on: loop) { [loop, ends] events in
            seen.append(events)
            switch seen.count {
            case 1:
                // Everything is there, but only this is asked for.
                #expect(send(ends[1], "a", 1, 0) == 1)
                watcher?.watch(.readable)
            case 2: watcher?.watch([.readable, .writable])
            default:
                watcher?.watch([])
                _ = Timer(on: loop, afterMilliseconds: 20) {
                    watcher?.cancel()
                    watcher?.watch(.readable)
                    loop.stop()
                }
            }
        }
        watcher?.watch(.writable)
        loop.run()
        #expect(seen == [.writable, .readable, [.readable, .writable]])
    }

    @Test func `it reports an error of the socket once`() throws {
        defer { closeEnds() }
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        // Bound, and nobody listens there.
        let refusing = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        let dialling = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        #expect(fcntl(dialling, F_SETFL, O_NONBLOCK) == 0)
        defer { for descriptor in [refusing, dialling] { close(descriptor) } }
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        withUnsafeMutableBytes(of: &name) { bytes in
            let name = bytes.assumingMemoryBound(to: sockaddr.self).baseAddress
            #expect(bind(refusing, name, size) == 0)
            #expect(getsockname(refusing, name, &size) == 0)
            #expect(connect(dialling, name, size) == -1)
        }
        var seen: [SocketWatcher.Events] = []
        let watcher = try SocketWatcher(dialling, on: loop) { [loop] events in
            seen.append(events)
            _ = Timer(on: loop, afterMilliseconds: 20) { loop.stop() }
        }
        watcher.watch(.writable)
        loop.run()
        #expect(seen == [.failed])
    }

    @Test func `a socket is watched once at a time, and again after a cancel`() throws {
        defer { closeEnds() }
        let first = try SocketWatcher(ends[0], on: loop) { _ in }
        first.watch(.readable)
        #expect(throws: NetworkError.self) { try SocketWatcher(ends[0], on: loop) { _ in } }
        first.cancel()
        first.cancel()
        _ = try SocketWatcher(ends[0], on: loop) { _ in }
        loop.stop()
        loop.run()
    }

    @Test func `a plain file cannot be watched`() throws {
        defer { closeEnds() }
        let descriptor = open(#filePath, O_RDONLY)
        defer { close(descriptor) }
        #expect(throws: NetworkError.self) { try SocketWatcher(descriptor, on: loop) { _ in } }
        loop.stop()
        loop.run()
    }
}
