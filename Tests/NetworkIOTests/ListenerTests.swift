import Glibc
import NetworkIO
import Testing

@Suite struct ListenerTests {
    @Test func `port 0 becomes a real port that can be dialled`() async throws {
        try await withLoop { loop in
            let accepted = Watched<[SocketAddress]>([])
            let address = try await loop.listen { connection in
                accepted.change { $0.append(connection.peerAddress) }
            }
            #expect(address.port > 0)
            _ = try await loop.dial(address)
            let peers = try await accepted.wait { $0.count == 1 }
            #expect(peers[0].isLoopback)
            #expect(peers[0].port != address.port)
        }
    }

    @Test func `an address is listened at once only`() async throws {
        try await withLoop { loop in
            let address = try await loop.listen { _ in }
            let inUse = NetworkError.addressInUse(doing: "binding \(address)")
            await #expect(throws: inUse) {
                try await loop.perform {
                    try Listener(address, on: loop).start { _ in }
                }
            }
        }
    }

    @Test func `of a burst of connections a turn takes a few, and the next turn more`() async throws
    {
        try await withLoop { loop in
            let accepted = Watched<[Connection]>([])
            let turns = Watched<[Int]>([])
            let address = try await loop.listen { connection in
                accepted.change { $0.append(connection) }
            }
            let callers = try await loop.perform {
                loop.onTurnEnd { turns.change { $0.append(accepted.state.count) } }
                // During this turn only the kernel accepts them.
                return try (0..<200).map { _ in try Self.call(address.port) }
            }
            try await accepted.wait { $0.count == 200 }
            let counts = [0] + turns.state
            let steps = zip(counts, counts.dropFirst()).map { $1 - $0 }
            #expect(steps.allSatisfy { $0 <= Listener.acceptsPerTurnMax })
            #expect(steps.count { $0 > 0 } >= 200 / Listener.acceptsPerTurnMax)
            for caller in callers { close(caller) }
        }
    }

    /// Returns a socket that is connected to a port of this machine.
    private static func call(_ port: UInt16) throws -> Int32 {
        let caller = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        name.sin_port = port.bigEndian
        let code = withUnsafeBytes(of: &name) { bytes in
            connect(
                caller, bytes.assumingMemoryBound(to: sockaddr.self).baseAddress,
                socklen_t(MemoryLayout<sockaddr_in>.size))
        }
        try #require(code == 0)
        return caller
    }

    @Test func `a closed listener refuses, and what it took lives on`() async throws {
        try await withLoop { loop in
            let anyPort = try loopback(0)
            let accepted = Watched<Connection?>(nil)
            let address = try await loop.perform {
                let listener = try Listener(anyPort, on: loop)
                try listener.start { connection in
                    accepted.change { $0 = connection }
                    listener.close()
                }
                return listener.address
            }
            let client = try await loop.dial(address)
            let server = try #require(try await accepted.wait { $0 != nil })
            await #expect(throws: NetworkError.refused) { try await loop.dial(address) }
            let recorder = Recorder()
            try await loop.perform {
                client.delegate = recorder
                server.write([9])
            }
            try await recorder.seen.wait { $0.bytes == [9] }
        }
    }
}
