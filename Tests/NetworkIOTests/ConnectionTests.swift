import NetworkIO
import Testing

@Suite struct ConnectionTests {
    /// Bytes in which a loss, a repetition or a change of order is visible.
    private let megabyte = (0..<262_144).flatMap { number in
        withUnsafeBytes(of: UInt32(number).bigEndian) { [UInt8]($0) }
    }

    @Test func `what is sent comes back from an echo`() async throws {
        try await withLoop { loop in
            let pair = try await Pair(on: loop) { connection, bytes in connection.write(bytes) }
            let sent = megabyte
            try await loop.perform { pair.client.write(sent) }
            let seen = try await pair.clientSees.seen.wait { $0.bytes.count >= sent.count }
            #expect(seen.bytes == sent)
        }
    }

    @Test func `many small writes of one turn arrive in order, as one`() async throws {
        try await withLoop { loop in
            let pair = try await Pair(on: loop)
            let queued = try await loop.perform {
                for number in 0..<200 { pair.client.write([UInt8(number), 10]) }
                return pair.client.queuedBytes
            }
            #expect(queued == 400)
            let seen = try await pair.serverSees.seen.wait { $0.bytes.count >= 400 }
            #expect(seen.bytes == (0..<200).flatMap { [UInt8($0), 10] })
            #expect(seen.reads == 1)
            let drained = try await pair.clientSees.seen.wait { !$0.drains.isEmpty }
            #expect(drained.drains == [0])
        }
    }

    @Test func `writes of many turns arrive in order while the kernel takes only a part`()
        async throws
    {
        try await withLoop { loop in
            let pair = try await Pair(on: loop)
            let parts = stride(from: 0, to: megabyte.count, by: 65_536).map { start in
                Array(megabyte[start..<(start + 65_536)])
            }
            try await loop.perform { pair.server.pauseReading() }
            for _ in 0..<8 {
                for part in parts { try await loop.perform { pair.client.write(part) } }
            }
            #expect(try await loop.perform { pair.client.queuedBytes } > 0)
            try await loop.perform { pair.server.resumeReading() }
            let sent = (0..<8).flatMap { _ in megabyte }
            let seen = try await pair.serverSees.seen.wait { $0.bytes.count >= sent.count }
            #expect(seen.bytes == sent)
        }
    }

    @Test func `a peer that has closed its half is still answered`() async throws {
        try await withLoop { loop in
            let pair = try await Pair(on: loop)
            let answer = megabyte
            pair.serverSees.atEnd.withLock {
                $0 = { connection in
                    connection.write(answer)
                    connection.closeAfterFlush()
                }
            }
            try await loop.perform {
                pair.client.write(Array("question".utf8))
                pair.client.endWriting()
            }
            let seen = try await pair.clientSees.seen.wait { $0.ends == 1 }
            #expect(seen.bytes == answer)
            let server = try await pair.serverSees.seen.wait { !$0.closes.isEmpty }
            #expect(server.bytes == Array("question".utf8))
            #expect(server.closes == [nil])
        }
    }

    @Test func `a reader that pauses makes the writer's queue grow, and drains it when it resumes`()
        async throws
    {
        try await withLoop { loop in
            let pair = try await Pair(on: loop)
            try await loop.perform { pair.client.pauseReading() }
            let part = megabyte
            let parts = 16
            for _ in 0..<parts { try await loop.perform { pair.server.write(part) } }
            let queued = try await loop.perform { pair.server.queuedBytes }
            #expect(queued > part.count)
            #expect(pair.clientSees.seen.state.bytes.isEmpty)
            // A paused reader can still write.
            try await loop.perform { pair.client.write([1, 2, 3]) }
            try await pair.serverSees.seen.wait { $0.bytes == [1, 2, 3] }
            try await loop.perform { pair.client.resumeReading() }
            let seen = try await pair.clientSees.seen.wait { $0.bytes.count >= parts * part.count }
            #expect(seen.bytes.count == parts * part.count)
            try await pair.serverSees.seen.wait { $0.drains.last == 0 }
            #expect(try await loop.perform { pair.server.queuedBytes } == 0)
        }
    }

    @Test func `bytes that came before the delegate are not missed`() async throws {
        try await withLoop { loop in
            let accepted = Watched<Connection?>(nil)
            let address = try await loop.listen { connection in accepted.change { $0 = connection }
            }
            let client = try await loop.dial(address)
            try await loop.perform { client.write([7]) }
            let server = try #require(try await accepted.wait { $0 != nil })
            let recorder = Recorder()
            try await loop.perform { server.delegate = recorder }
            try await recorder.seen.wait { $0.bytes == [7] }
        }
    }
}
