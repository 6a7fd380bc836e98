import Glibc
import NetworkIO
import Testing

@Suite struct DescriptorWatcherTests {
    @Test func `it tells when there is something to read, and of the end`() throws {
        var ends: [Int32] = [0, 0]
        #expect(pipe(&ends) == 0)
        let mode = fcntl(ends[0], F_GETFL)
        var read: [Int] = []
        let loop = try EventLoop()
        var watcher: DescriptorWatcher?
        watcher = try DescriptorWatcher(ends[0], on: loop) {
            var bytes = [UInt8](repeating: 0, count: 16)
            read.append(Glibc.read(ends[0], &bytes, 16))
            if read.count == 1 { close(ends[1]) }
            if read.last == 0 {
                watcher?.cancel()
                loop.stop()
            }
        }
        // The descriptor keeps its mode for others that share it.
        #expect(fcntl(ends[0], F_GETFL) == mode)
        #expect(write(ends[1], "abc", 3) == 3)
        _ = Timer(on: loop, afterMilliseconds: 30_000) {
            Issue.record("not over after 30 s")
            loop.stop()
        }
        loop.run()
        #expect(read == [3, 0])
        close(ends[0])
    }

    @Test func `a plain file cannot be watched`() throws {
        let descriptor = open(#filePath, O_RDONLY)
        let loop = try EventLoop()
        #expect(throws: NetworkError.self) { try DescriptorWatcher(descriptor, on: loop) {} }
        close(descriptor)
    }
}
