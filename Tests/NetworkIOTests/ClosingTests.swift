import NetworkIO
import Testing

@Suite struct ClosingTests {
    @Test func `a close is told exactly once, however often it is asked for`() async throws {
        try await withLoop { loop in
            let pair = try await Pair(on: loop)
            pair.serverSees.atEnd.withLock { $0 = { $0.closeAfterFlush() } }
            try await loop.perform {
                pair.client.write([1])
                pair.client.close()
                pair.client.close()
                pair.client.closeAfterFlush()
                pair.client.write([2])
            }
            try await pair.serverSees.seen.wait { !$0.closes.isEmpty }
            try await pair.clientSees.seen.wait { !$0.closes.isEmpty }
            try await loop.perform {
                pair.client.close()
                pair.server.close()
            }
            try await loop.perform {}
            #expect(pair.clientSees.seen.state.closes == [nil])
            #expect(pair.serverSees.seen.state.closes == [nil])
        }
    }

    @Test func `closing after the flush delivers everything, though the peer is still sending`()
        async throws
    {
        try await withLoop { loop in
            let pair = try await Pair(on: loop)
            let words = [UInt8](repeating: 33, count: 1_000_000)
            try await loop.perform {
                pair.client.pauseReading()
                pair.server.pauseReading()
                pair.client.write([UInt8](repeating: 63, count: 1_000_000))
                pair.server.write(words)
                pair.server.closeAfterFlush()
            }
            try await loop.perform { pair.client.resumeReading() }
            let seen = try await pair.clientSees.seen.wait { $0.ends == 1 }
            #expect(seen.bytes == words)
            #expect(seen.closes.isEmpty)
            try await loop.perform { pair.client.closeAfterFlush() }
            let server = try await pair.serverSees.seen.wait { !$0.closes.isEmpty }
            #expect(server.closes == [nil])
            #expect(server.bytes.isEmpty)
        }
    }

    @Test func `a close drops what the peer has not taken, and the kernel holds little of it`()
        async throws
    {
        try await withLoop { loop in
            let pair = try await Pair(on: loop)
            let words = [UInt8](repeating: 33, count: 16_000_000)
            try await loop.perform {
                pair.server.limitUnsentBytes()
                pair.client.pauseReading()
                pair.server.write(words)
            }
            try await loop.perform {}
            let left = try await loop.perform { pair.server.queuedBytes }
            #expect(left > 0)
            try await loop.perform {
                pair.server.close()
                pair.client.resumeReading()
            }
            // A reset, which libuv tells as an end where it has just read something.
            let seen = try await pair.clientSees.seen.wait { $0.ends + $0.closes.count > 0 }
            let taken = words.count - left - seen.bytes.count
            #expect(seen.bytes.count < 512 << 10, "the peer was sent \(seen.bytes.count) bytes")
            #expect(taken > 0, "the kernel dropped \(taken) bytes")
        }
    }

    @Test func `a peer that leaves without reading is seen as a reset`() async throws {
        try await withLoop { loop in
            let pair = try await Pair(on: loop)
            try await loop.perform {
                pair.client.pauseReading()
                pair.server.write([1, 2, 3])
            }
            try await pair.serverSees.seen.wait { $0.drains == [0] }
            try await loop.perform { pair.client.close() }
            let seen = try await pair.serverSees.seen.wait { !$0.closes.isEmpty }
            #expect(seen.closes == [.reset])
        }
    }

    @Test func `a loop that is stopped closes what is open, and tells it once`() async throws {
        let thread = try LoopThread()
        let pair = try await Pair(on: thread.loop)
        thread.join()
        #expect(pair.clientSees.seen.state.closes == [nil])
        #expect(pair.serverSees.seen.state.closes == [nil])
    }

    @Test func `a closed connection lets go of its delegate`() async throws {
        try await withLoop { loop in
            let pair = try await Pair(on: loop)
            weak var gone: Recorder?
            try await loop.perform {
                let recorder = Recorder()
                pair.client.delegate = recorder
                pair.client.close()
            }
            try await pair.serverSees.seen.wait { $0.ends == 1 }
            gone = try await loop.perform { pair.client.delegate as? Recorder }
            #expect(gone == nil)
        }
    }

    @Test func `a reset is noticed while reading is paused, and a half-closed peer is kept`()
        async throws
    {
        try await withLoop { loop in
            let (reset, halfClosed) = (try await Pair(on: loop), try await Pair(on: loop))
            try await loop.perform {
                for pair in [reset, halfClosed] {
                    pair.client.pauseReading()
                    pair.server.pauseReading()
                    pair.server.write([33])
                }
                halfClosed.client.endWriting()
            }
            // The server's byte is unread when the client closes, so the kernel resets.
            try await reset.serverSees.seen.wait { $0.drains.last == 0 }
            try await loop.perform { reset.client.close() }
            for _ in 0..<500 where reset.serverSees.seen.state.closes.isEmpty {
                try await Task.sleep(for: .milliseconds(10))
                try await loop.perform { loop.closeResetConnections() }
            }
            #expect(reset.serverSees.seen.state.closes == [.reset])
            #expect(halfClosed.serverSees.seen.state.closes.isEmpty)
        }
    }

    @Test func `a reset that follows the peer's end is noticed`() async throws {
        try await withLoop { loop in
            let pair = try await Pair(on: loop)
            try await loop.perform {
                pair.client.pauseReading()
                pair.server.write([33])
                pair.client.endWriting()
            }
            try await pair.serverSees.seen.wait { $0.ends == 1 && $0.drains.last == 0 }
            // The server's byte is unread when the client closes, so the kernel resets.
            try await loop.perform { pair.client.close() }
            for _ in 0..<500 where pair.serverSees.seen.state.closes.isEmpty {
                try await Task.sleep(for: .milliseconds(10))
                try await loop.perform { loop.closeResetConnections() }
            }
            #expect(pair.serverSees.seen.state.closes == [.reset])
        }
    }
}
