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
            await #expect(throws: NetworkError.addressInUse) {
                try await loop.perform {
                    try Listener(address, on: loop).start { _ in }
                }
            }
        }
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
