import Glibc
import NetworkIO
import Testing

@Suite struct DialTests {
    @Test func `a port where nobody listens refuses`() async throws {
        try await withLoop { loop in
            // Bound and not listening: nobody else can begin to listen there meanwhile.
            let anyPort = try loopback(0)
            let address = try await loop.perform { try Listener(anyPort, on: loop).address }
            await #expect(throws: NetworkError.refused) { try await loop.dial(address) }
        }
    }

    @Test func `a peer that does not answer is given up in time`() async throws {
        // A queue for one connection that nobody accepts: the kernel ignores later ones.
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { Glibc.close(listener) }
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var count = socklen_t(MemoryLayout<sockaddr_in>.size)
        withUnsafeMutableBytes(of: &name) { bytes in
            let address = bytes.assumingMemoryBound(to: sockaddr.self).baseAddress
            bind(listener, address, count)
            listen(listener, 0)
            getsockname(listener, address, &count)
        }
        let address = try loopback(UInt16(bigEndian: name.sin_port))
        try await withLoop { loop in
            let answers = Watched<[NetworkError?]>([])
            try await loop.perform {
                for _ in 0..<4 {
                    Connection.dial(address, on: loop, timeoutMilliseconds: 50) { result in
                        switch result {
                        case .success: answers.change { $0.append(nil) }
                        case .failure(let error): answers.change { $0.append(error) }
                        }
                    }
                }
            }
            let all = try await answers.wait { $0.count == 4 }
            #expect(all.contains(.timedOut))
            #expect(all.allSatisfy { $0 == nil || $0 == .timedOut })
        }
    }

    @Test func `a dial is answered when the loop stops`() async throws {
        let thread = try LoopThread()
        let loop = thread.loop
        let failures = Watched<[NetworkError]>([])
        let address = try loopback(1)
        try await loop.perform {
            Connection.dial(address, on: loop, timeoutMilliseconds: 60_000) { result in
                if case .failure(let error) = result { failures.change { $0.append(error) } }
            }
            loop.stop()
        }
        thread.join()
        #expect(failures.state.count == 1)
    }
}
