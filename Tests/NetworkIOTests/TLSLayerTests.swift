import NetworkIO
import Testing

@Suite struct TLSLayerTests {
    /// Both ends of a connection; the far one has a mask, the near one if the test asks for it.
    private struct Ends {
        let near: Connection
        let far: Connection
        let nearSees = Recorder()
        let farSees = Recorder()
        let risen = Watched<[Result<Void, NetworkError>]>([])
        /// How often the far end's TLS layer sealed something.
        let seals = Lock(0)

        init(on loop: EventLoop, masking: Bool, timeoutMilliseconds: UInt64 = 300_000) async throws
        {
            let accepted = Watched<Connection?>(nil)
            let address = try await loop.listen { connection in accepted.change { $0 = connection }
            }
            near = try await loop.dial(address)
            far = try #require(try await accepted.wait { $0 != nil })
            try await loop.perform { [self] in
                if masking {
                    raise(near, Mask(begins: true, Lock(0)), nearSees, timeoutMilliseconds)
                }
                raise(far, Mask(begins: false, seals), farSees, timeoutMilliseconds)
                if !masking { near.delegate = nearSees }
            }
        }

        private func raise(
            _ connection: Connection, _ mask: Mask, _ recorder: Recorder, _ milliseconds: UInt64
        ) {
            let risen = risen
            connection.raise(mask, timeoutMilliseconds: milliseconds) { result in
                if case .success = result { connection.delegate = recorder }
                risen.change { $0.append(result) }
            }
        }

        func bothUp() async throws {
            let results = try await risen.wait { $0.count == 2 }
            for result in results { try result.get() }
        }

        /// Returns the error with which the far end's handshake failed.
        func refusal() async throws -> NetworkError? {
            guard case .failure(let error) = try await risen.wait(until: { !$0.isEmpty })[0] else {
                return nil
            }
            return error
        }
    }

    /// A text without the byte that a mask takes for the end.
    private let text = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 % 251 + 1) }

    /// Compares outside of the expectation, which would compute the difference element by element.
    private func isText(_ bytes: [UInt8]) -> Bool { bytes == text }

    @Test func `what passes a layer is the same at the other side`() async throws {
        try await withLoop { loop in
            let ends = try await Ends(on: loop, masking: true)
            try await ends.bothUp()
            let text = text
            try await loop.perform {
                ends.near.write(text)
                ends.far.write(text)
            }
            let far = try await ends.farSees.seen.wait { $0.bytes.count >= text.count }
            #expect(isText(far.bytes))
            let near = try await ends.nearSees.seen.wait { $0.bytes.count >= text.count }
            #expect(isText(near.bytes))
            try await ends.nearSees.seen.wait { $0.drains.last == 0 }
        }
    }

    @Test func `the writes of a turn are sealed as one`() async throws {
        try await withLoop { loop in
            let ends = try await Ends(on: loop, masking: true)
            try await ends.bothUp()
            let queued = try await loop.perform {
                for number in 1...200 as ClosedRange<UInt8> { ends.far.write([number, 10]) }
                return ends.far.queuedBytes
            }
            #expect(queued == 400)
            let seen = try await ends.nearSees.seen.wait { $0.bytes.count >= 400 }
            #expect(seen.bytes == (1...200).flatMap { [$0, 10] })
            #expect(ends.seals.withLock { $0 } == 1)
            #expect(try await loop.perform { ends.far.queuedBytes } == 0)
        }
    }

    @Test func `what the layer holds waits for a reader that pauses`() async throws {
        try await withLoop { loop in
            let ends = try await Ends(on: loop, masking: true)
            try await ends.bothUp()
            // All of it comes in one read, so that no other read fetches the rest.
            let text = Array(text.prefix(5_000))
            // The owner stops reading in the middle of what one read brought.
            ends.farSees.answer.withLock { $0 = { connection, _ in connection.pauseReading() } }
            try await loop.perform { ends.near.write(text) }
            try await ends.farSees.seen.wait { $0.reads == 1 }
            for _ in 0..<3 { try await loop.perform {} }
            #expect(ends.farSees.seen.state.bytes.count == Mask.openedBytesMax)
            try await loop.perform { ends.far.resumeReading() }
            try await ends.farSees.seen.wait { $0.reads == 2 }
            ends.farSees.answer.withLock { $0 = nil }
            try await loop.perform { ends.far.resumeReading() }
            let seen = try await ends.farSees.seen.wait { $0.bytes.count >= text.count }
            #expect(seen.bytes == text)
        }
    }

    @Test func `an owner that resumes reading at each drain lets the loop sleep`() async throws {
        try await withLoop { loop in
            let ends = try await Ends(on: loop, masking: true)
            try await ends.bothUp()
            ends.nearSees.atDrain.withLock { $0 = { $0.resumeReading() } }
            try await loop.perform {
                ends.near.write([1])
                ends.far.write([1])
            }
            try await ends.farSees.seen.wait { $0.reads == 1 }
            try await ends.nearSees.seen.wait { $0.reads == 1 && !$0.drains.isEmpty }
            try await loop.perform {}
            let before = ends.nearSees.seen.state.drains.count
            for _ in 0..<50 { try await loop.perform {} }
            #expect(ends.nearSees.seen.state.drains.count <= before + 1)
        }
    }

    @Test func `what is written while the kernel takes nothing is sent once it takes more`()
        async throws
    {
        try await withLoop { loop in
            let ends = try await Ends(on: loop, masking: true)
            try await ends.bothUp()
            let much = [UInt8](repeating: 33, count: 8_000_000)
            try await loop.perform {
                ends.far.pauseReading()
                ends.near.write(much)
            }
            try await loop.perform {}
            try await loop.perform { ends.near.write([34]) }
            try await loop.perform {}
            try await loop.perform { ends.far.resumeReading() }
            let far = try await ends.farSees.seen.wait { $0.bytes.count > much.count }
            #expect(far.bytes.last == 34)
        }
    }

    @Test func `what is written before a layer is up waits for it`() async throws {
        try await withLoop { loop in
            let ends = try await Ends(on: loop, masking: false)
            try await loop.perform {
                ends.far.write([1, 2, 3])
                #expect(ends.far.queuedBytes == 3)
            }
            try await loop.perform {}
            #expect(ends.nearSees.seen.state.bytes.isEmpty)
            try await loop.perform { ends.near.write(Mask.word) }
            let seen = try await ends.nearSees.seen.wait { $0.bytes.count >= 15 }
            #expect(seen.bytes == Mask.word + [254, 253, 252])
        }
    }

    @Test func `an end passes after everything that was written`() async throws {
        try await withLoop { loop in
            let ends = try await Ends(on: loop, masking: true)
            try await ends.bothUp()
            let text = text
            try await loop.perform {
                ends.near.write(text)
                ends.near.closeAfterFlush()
            }
            let seen = try await ends.farSees.seen.wait { $0.ends == 1 }
            #expect(isText(seen.bytes))
            #expect(seen.closes.isEmpty)
            try await loop.perform { ends.far.closeAfterFlush() }
            #expect(try await ends.farSees.seen.wait { !$0.closes.isEmpty }.closes == [nil])
            #expect(try await ends.nearSees.seen.wait { !$0.closes.isEmpty }.closes == [nil])
        }
    }

    @Test func `an end that the layer did not announce is a loss`() async throws {
        try await withLoop { loop in
            let ends = try await Ends(on: loop, masking: false)
            try await loop.perform { ends.near.write(Mask.word + [254]) }
            try await ends.farSees.seen.wait { $0.bytes == [1] }
            try await loop.perform { ends.near.endWriting() }
            let seen = try await ends.farSees.seen.wait { !$0.closes.isEmpty }
            #expect(seen.closes == [.reset])
            #expect(seen.ends == 0)
        }
    }

    @Test func `who says the wrong word is told and closed, and the owner hears nothing`()
        async throws
    {
        try await withLoop { loop in
            let ends = try await Ends(on: loop, masking: false)
            try await loop.perform { ends.near.write(Array("open barley\n and more".utf8)) }
            #expect(try await ends.refusal() == .distrusted(.wrongKey))
            let seen = try await ends.nearSees.seen.wait { $0.ends == 1 || !$0.closes.isEmpty }
            // The kernel may reset the connection instead, because of unread bytes.
            #expect(seen.bytes == Array("no".utf8) || seen.closes == [.reset])
            #expect(ends.farSees.seen.state.bytes.isEmpty)
        }
    }

    @Test func `who hangs up before the layer is up is refused`() async throws {
        try await withLoop { loop in
            let ends = try await Ends(on: loop, masking: false)
            try await loop.perform {
                ends.near.write(Array("open".utf8))
                ends.near.closeAfterFlush()
            }
            #expect(try await ends.refusal() == .distrusted(.hungUp))
        }
    }

    @Test func `who says nothing is refused in time`() async throws {
        try await withLoop { loop in
            let ends = try await Ends(on: loop, masking: false, timeoutMilliseconds: 20)
            #expect(try await ends.refusal() == .distrusted(.late))
            try await ends.nearSees.seen.wait { $0.ends == 1 || !$0.closes.isEmpty }
        }
    }

    @Test func `a close on the way up is told once`() async throws {
        try await withLoop { loop in
            let ends = try await Ends(on: loop, masking: false)
            try await loop.perform {
                ends.far.close()
                ends.far.close()
            }
            #expect(try await ends.refusal() == .reset)
            try await loop.perform {}
            #expect(ends.risen.state.count == 1)
        }
    }
}
