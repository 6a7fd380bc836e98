import NetworkIO
import Testing

@Suite struct EventLoopTests {
    @Test func `work from several threads keeps the order of each`() async throws {
        try await withLoop { loop in
            let each = 5_000
            let log = Watched<[[Int]]>([[], [], []])
            let producers = try (0..<3).map { _ in try LoopThread() }
            for (index, producer) in producers.enumerated() {
                producer.loop.post {
                    for number in 0..<each {
                        loop.post { log.change { $0[index].append(number) } }
                    }
                }
            }
            let seen = try await log.wait { $0.allSatisfy { $0.count == each } }
            for numbers in seen { #expect(numbers == Array(0..<each)) }
            for producer in producers { producer.join() }
        }
    }

    @Test func `actors on one loop call each other on its thread`() async throws {
        try await withLoop { loop in
            let player = Player(on: loop)
            let partner = Player(on: loop)
            let hits = await player.rally(with: partner, hits: 1_000)
            #expect(hits == 1_000)
            #expect(await player.strayed == 0)
            #expect(await partner.strayed == 0)
        }
    }

    @Test func `a callback of the loop may assume an actor's isolation`() async throws {
        try await withLoop { loop in
            let player = Player(on: loop)
            let hits = Watched(0)
            try await loop.perform {
                _ = Timer(on: loop, afterMilliseconds: 1) {
                    let count = player.assumeIsolated { player in
                        player.hits += 41
                        return player.hits + 1
                    }
                    hits.change { $0 = count }
                }
            }
            try await hits.wait { $0 == 42 }
        }
    }

    @Test func `work for the turn's end runs once a turn, after what the turn brought`()
        async throws
    {
        try await withLoop { loop in
            let log = Watched("")
            let isLogging = Lock(false)
            @Sendable func note(_ event: String) {
                if isLogging.withLock({ $0 }) { log.change { $0 += event } }
            }
            let pair = try await Pair(on: loop) { connection, bytes in connection.write(bytes) }
            // One turn brings the client a read, and the work that the read posts; the next turn
            // is the server's.
            pair.clientSees.answer.withLock {
                $0 = { connection, bytes in
                    note("r")
                    loop.post { loop.post { note("w") } }
                    if log.state.utf8.count < 200 { connection.write(bytes) }
                }
            }
            try await loop.perform {
                loop.onTurnEnd { note("e") }
                pair.client.write([1])
            }
            isLogging.withLock { $0 = true }
            let text = try await log.wait { $0.utf8.count >= 200 }
            // The log starts in the middle of a round, and a late wake-up may fall into a round,
            // too.
            let rounds = text.split(separator: "r").dropFirst(2).dropLast()
            #expect(rounds.count > 40)
            #expect(rounds.allSatisfy { $0 == "wee" })
        }
    }

    @Test func `what waits for the flush runs once, in order, behind what was written`()
        async throws
    {
        try await withLoop { loop in
            let pair = try await Pair(on: loop) { _, _ in }
            let seen = Watched<[String]>([])
            @Sendable func note(_ event: String) {
                seen.change { $0.append("\(event) \(pair.client.queuedBytes)") }
            }
            try await loop.perform {
                for event in ["first", "second"] { loop.afterFlush { note(event) } }
                pair.client.write([1])
                note("written")
            }
            let expected = ["written 1", "first 0", "second 0"]
            #expect(try await seen.wait { $0.count >= 3 } == expected)
            for _ in 0..<3 { try await loop.perform {} }
            #expect(seen.state == expected)
        }
    }

    @Test func `what the turn's end makes does not wait for anything to happen`() async throws {
        try await withLoop { loop in
            let count = Watched(0)
            try await loop.perform {
                loop.onTurnEnd {
                    guard count.state < 100 else { return }
                    loop.post { count.change { $0 += 1 } }
                }
            }
            try await count.wait { $0 >= 100 }
        }
    }

    @Test func `work that was posted before the stop is done`() async throws {
        let thread = try LoopThread()
        let count = Watched(0)
        for _ in 0..<1_000 { thread.loop.post { count.change { $0 += 1 } } }
        thread.join()
        #expect(count.state == 1_000)
    }

    @Test func `a loop that never ran can be dropped`() throws {
        _ = try EventLoop()
    }

    @Test func `monotonic time goes on and the wall clock is a date`() throws {
        let loop = try EventLoop()
        let before = loop.nanoseconds
        #expect(loop.nanoseconds >= before)
        // 2024-01-01.
        #expect(EventLoop.wallMilliseconds() > 1_704_067_200_000)
    }
}

/// An actor that lives on a loop and counts how often it was run anywhere else.
private actor Player {
    private let loop: EventLoop
    var hits = 0
    private(set) var strayed = 0

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    init(on loop: EventLoop) { self.loop = loop }

    func rally(with partner: Player, hits: Int) async -> Int {
        if !loop.isCurrent { strayed += 1 }
        guard hits > 0 else { return 0 }
        return await partner.rally(with: self, hits: hits - 1) + 1
    }
}
