import CSystem
import Glibc
import Testing

@Suite struct SystemTests {
    @Test func `a lock on a file is held by one at a time`() {
        let path = "/tmp/grapevine-lock-test-\(getpid())"
        defer { unlink(path) }
        let first = csystem_lock_file(path)
        #expect(first >= 0)
        #expect(csystem_lock_file(path) == -EWOULDBLOCK)
        close(first)
        let second = csystem_lock_file(path)
        #expect(second >= 0)
        close(second)
        #expect(csystem_lock_file("/nowhere/lock") == -ENOENT)
    }

    @Test func `a process knows its memory and its descriptors`() {
        #expect(csystem_resident_bytes() > 1_000_000)
        #expect(csystem_raise_descriptor_limit() >= 256)
    }

    @Test func `a hangup that nobody watches is not the end`() {
        #expect(csystem_ignore_signals() == 0)
        #expect(raise(SIGHUP) == 0)
    }

    @Test func `a process that holds people's texts leaves no core dump`() {
        #expect(csystem_forbid_core_dumps() == 0)
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(UInt32(RLIMIT_CORE.rawValue)), &limit)
        #expect(limit.rlim_cur == 0 && limit.rlim_max == 0)
    }

    @Test func `a peer that is gone is an error and not the end`() {
        #expect(csystem_ignore_signals() == 0)
        var ends: [Int32] = [0, 0]
        #expect(pipe(&ends) == 0)
        close(ends[0])
        #expect(write(ends[1], "x", 1) == -1)
        #expect(errno == EPIPE)
        close(ends[1])
    }
}
