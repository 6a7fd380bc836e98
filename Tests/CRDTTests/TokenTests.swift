import TestKit
import Testing
import Wire

@testable import CRDT

struct TokenTests {
    private static let cluster = RandomID(high: 1, low: 2)

    @Test func `what fits is read back as it was seen`() throws {
        for seed in 0..<500 as Range<UInt64> {
            var random = SplitMix64(seed: seed)
            let seen = TokenTests.seen(shards: 4, replicas: 4, ranges: 2, &random)
            let token = try TokenTests.carried(Token(of: seen, cluster: TokenTests.cluster))
            #expect(!token.isRounded && token.isOf(TokenTests.cluster))
            for (shard, vector) in seen {
                #expect(token.minimum(of: shard, knowing: vector) == vector, "seed \(seed)")
                #expect(token.verdict(on: vector, of: shard) == .covered)
            }
            #expect(token.verdict(on: Vector(), of: ShardID(99)) == .covered)
        }
    }

    @Test func `at most 2,048 bytes, and never more than was seen, whatever was seen`() throws {
        for seed in 0..<60 as Range<UInt64> {
            var random = SplitMix64(seed: seed)
            let seen = TokenTests.seen(
                shards: 1 << random.below(8), replicas: 1 << random.below(6),
                ranges: 1 + random.below(40), &random)
            try TokenTests.check(seen, &random)
        }
        var random = SplitMix64(seed: 1)
        try TokenTests.check(
            TokenTests.seen(shards: 4_096, replicas: 3, ranges: 2, &random), &random)
    }

    @Test func `a copy that lacks any of it is never taken for one that holds it`() throws {
        for seed in 0..<500 as Range<UInt64> {
            var random = SplitMix64(seed: seed)
            let seen = TokenTests.seen(
                shards: 1 + random.below(100), replicas: 1 + random.below(6), ranges: 3, &random)
            let token = try TokenTests.carried(Token(of: seen, cluster: TokenTests.cluster))
            let (shard, vector) = random.pick(seen)
            let entry = random.pick(vector.entries)
            var missing = Vector()
            missing.insert(Dot(replica: entry.replica, seq: try #require(entry.seqs.greatest)))
            let less = vector.subtracting(missing)
            #expect(token.verdict(on: less, of: shard) == .lacking, "seed \(seed)")
        }
    }

    @Test func `64 shards fit into one token, and a copy of the same state is known by it`() throws
    {
        var random = SplitMix64(seed: 7)
        let seen = TokenTests.seen(shards: 64, replicas: 3, ranges: 1, &random)
        let token = try TokenTests.carried(Token(of: seen, cluster: TokenTests.cluster))
        #expect(!token.isRounded)
        for (shard, vector) in seen {
            #expect(token.verdict(on: vector, of: shard) == .covered)
            #expect(token.minimum(of: shard, knowing: vector) == vector)
        }
    }

    @Test func `the clock and what may be done yet are always carried`() throws {
        var random = SplitMix64(seed: 12)
        let seen = TokenTests.seen(shards: 64, replicas: 5, ranges: 1, &random)
        var unsettled = Unsettled()
        for number in 1...6 as ClosedRange<UInt64> {
            let time = HybridTimestamp(milliseconds: 50 - number)
            unsettled.insertOperation(
                Stamp(time: time, process: RandomID(from: &random), counter: 1 << (10 * number)))
            let last = try #require(unsettled.counters.last)
            unsettled.insertOperation(
                Stamp(time: time, process: last.process, counter: last.counter - 1))
            #expect(unsettled.counters.last == last)
            let clock = HybridTimestamp(milliseconds: 1 << 44)
            var sums: [UInt32] = []
            for _ in 0..<random.below(Token.sumsMax + 1) {
                sums.append(random.chance(50) ? 0 : UInt32(truncatingIfNeeded: random.next()))
            }
            let token = try TokenTests.carried(
                Token(of: seen, cluster: TokenTests.cluster, clock: clock, unsettled: unsettled))
            #expect(token.text.utf8.count <= Token.textBytesMax)
            #expect(token.clock == clock && token.unsettled == unsettled)
            let wide = try TokenTests.carried(
                Token(
                    of: seen, cluster: TokenTests.cluster, clock: clock, unsettled: unsettled,
                    sums: sums))
            #expect(wide.isRounded == token.isRounded && wide.text.utf8.count <= Token.textBytesMax)
            let narrow = try TokenTests.carried(
                Token(of: [], cluster: TokenTests.cluster, unsettled: unsettled, sums: sums))
            #expect(narrow.sums == sums && (wide.sums == sums || wide.sums.isEmpty))
            #expect(unsettled.counters.count == min(4, Int(number)))
            // With one of them, 64 shards fit beside it.
            if number == 1 { #expect(!token.isRounded) }
        }
        #expect(unsettled.time == HybridTimestamp(milliseconds: 49))
        for sums in [[], [0], Array(repeating: 0, count: 8), [0, 7]] as [[UInt32]] {
            let token = Token(of: [], cluster: TokenTests.cluster, sums: sums)
            #expect(try TokenTests.carried(token).sums == sums)
        }
    }

    @Test func `what matters first is kept whole`() throws {
        var random = SplitMix64(seed: 8)
        let seen = TokenTests.seen(shards: 64, replicas: 2, ranges: 1, &random)
        for (shard, vector) in seen {
            let token = try TokenTests.carried(
                Token(of: seen, first: [shard], cluster: TokenTests.cluster))
            var more = vector
            more.insert(Dot(replica: RandomID(from: &random), seq: 1))
            #expect(token.verdict(on: more, of: shard) == .covered)
            #expect(token.minimum(of: shard, knowing: more) == vector)
        }
    }

    @Test func `a token of an old cluster is as exact as a young one's`() throws {
        let shard = ShardID(5)
        for seed in 0..<10 as Range<UInt64> {
            var random = SplitMix64(seed: seed)
            let vectors = CheckpointHistoryTests.growth(1_600, &random)
            var checkpoints = Checkpoints()
            for vector in vectors.dropLast(3) { checkpoints.add(vector, to: shard) }
            let (seen, now) = (vectors[1_597], vectors[1_599])
            #expect(seen.entries.count > 160)
            let token = try TokenTests.carried(
                Token(
                    of: [(shard, seen)], cluster: TokenTests.cluster, checkpoints: checkpoints))
            #expect(token.verdict(on: now, of: shard, checkpoints) == .covered, "seed \(seed)")
            #expect(token.minimum(of: shard, knowing: now, checkpoints) == seen, "seed \(seed)")
            #expect(token.verdict(on: now, of: shard) == .lacking)
        }
    }

    @Test func `a checkpoint is covered by whoever holds its changes, and by nobody else`() throws {
        for seed in 0..<200 as Range<UInt64> {
            var random = SplitMix64(seed: seed)
            var checkpoints = Checkpoints()
            var seen: [(shard: ShardID, vector: Vector)] = []
            for number in 0..<UInt16(1 + random.below(64)) {
                let vectors = CheckpointHistoryTests.growth(20, &random)
                for vector in vectors.dropLast(random.below(3)) {
                    checkpoints.add(vector, to: ShardID(number))
                }
                seen.append((ShardID(number), vectors[19]))
            }
            let token = try TokenTests.carried(
                Token(of: seen, cluster: TokenTests.cluster, checkpoints: checkpoints))
            #expect(token.text.utf8.count <= Token.textBytesMax)
            for (shard, vector) in seen {
                #expect(token.verdict(on: vector, of: shard, checkpoints) == .covered)
                let minimum = token.minimum(of: shard, knowing: vector, checkpoints)
                #expect(vector.covers(minimum), "seed \(seed)")
                let entry = random.pick(vector.entries)
                var missing = Vector()
                missing.insert(
                    Dot(replica: entry.replica, seq: try #require(entry.seqs.greatest)))
                let less = vector.subtracting(missing)
                #expect(token.verdict(on: less, of: shard, checkpoints) == .lacking)
            }
        }
    }

    @Test func `64 shards of an old cluster are exact in one token, whatever is written after`()
        throws
    {
        for seed in 0..<2 as Range<UInt64> {
            var random = SplitMix64(seed: seed)
            var processes = (0..<3).map { _ in RandomID(from: &random) }
            var vectors = Array(repeating: Vector(), count: 64)
            var checkpoints = Checkpoints()
            func write(_ count: Int) {
                for _ in 0..<count {
                    let shard = random.below(64)
                    let process = random.pick(processes)
                    let next = (vectors[shard].seqs(of: process).greatest ?? 0) + 1
                    vectors[shard].insert(
                        SeqSet(next...(next + UInt64(random.below(2_000)))), of: process)
                }
            }
            func name() {
                for number in vectors.indices {
                    checkpoints.add(vectors[number], to: ShardID(UInt16(number)))
                }
            }
            // Twenty starts of each process, with checkpoints between, and a load meanwhile.
            for _ in 0..<20 {
                for index in processes.indices {
                    for _ in 0..<3 {
                        write(200)
                        name()
                    }
                    processes[index] = RandomID(from: &random)
                }
            }
            write(500)
            let seen = vectors.enumerated().map { (ShardID(UInt16($0)), $1) }
            let token = try TokenTests.carried(
                Token(of: seen, cluster: TokenTests.cluster, checkpoints: checkpoints))
            #expect(!token.isRounded && token.names.isEmpty)
            // A load during which a history forgets what it can.
            for _ in 0..<100 {
                write(64)
                name()
            }
            for (shard, vector) in seen {
                let now = vectors[Int(shard.number)]
                #expect(token.verdict(on: now, of: shard, checkpoints) == .covered)
                let isSame = token.minimum(of: shard, knowing: now, checkpoints) == vector
                #expect(isSame)
                let dot = try #require(vector.entries.last, "seed \(seed)")
                var lost = Vector()
                lost.insert(Dot(replica: dot.replica, seq: try #require(dot.seqs.greatest)))
                #expect(
                    token.verdict(on: now.subtracting(lost), of: shard, checkpoints) == .lacking)
            }
        }
    }

    @Test func `a token of earlier builds is read, and written in the present form`() throws {
        let text = "AcSzIK0AAAAAAAAAAAAAAAABAAlf92QIAQHTIp5WUbABAdQjABrrcIQ"
        let bytes: [UInt8] = try #require(Base64.decode(text))
        let token = try Token.decode(bytes)
        #expect(token.parts.count == 1 && token.encoded != bytes)
        #expect(try TokenTests.carried(token) == token)
    }

    @Test func `64 quiet shards are exact in one token, after more was written, too`() throws {
        var random = SplitMix64(seed: 11)
        var checkpoints = Checkpoints()
        var seen: [(shard: ShardID, vector: Vector)] = []
        for number in 0..<64 as Range<UInt16> {
            let vector = CheckpointHistoryTests.growth(100, &random)[99]
            checkpoints.add(vector, to: ShardID(number))
            seen.append((ShardID(number), vector))
        }
        let token = try TokenTests.carried(
            Token(of: seen, cluster: TokenTests.cluster, checkpoints: checkpoints))
        for (shard, vector) in seen {
            var more = vector
            more.insert(Dot(replica: RandomID(from: &random), seq: 1))
            checkpoints.add(more, to: shard)
            #expect(token.verdict(on: more, of: shard, checkpoints) == .covered)
            #expect(token.minimum(of: shard, knowing: more, checkpoints) == vector)
        }
    }

    @Test func `the most shards of a cluster fit by name, whatever else the token says`() throws {
        var random = SplitMix64(seed: 11)
        let seen = TokenTests.seen(shards: 256, replicas: 9, ranges: 3, &random)
        var unsettled = Unsettled()
        for counter in 0..<UInt64(Unsettled.countMax) {
            unsettled.insertOperation(
                Stamp(
                    time: HybridTimestamp(milliseconds: .max), process: RandomID(from: &random),
                    counter: Stamp.counterMax - counter))
        }
        let token = try TokenTests.carried(
            Token(
                of: seen, cluster: TokenTests.cluster, unsettled: unsettled,
                sums: Array(1...UInt32(Token.sumsMax))))
        #expect(!token.isRounded && token.sums.count == Token.sumsMax)
        #expect(token.unsettled == unsettled)
        #expect(seen.allSatisfy { token.verdict(on: $0.vector, of: $0.shard) == .covered })
    }

    @Test func `what is no checkpoint is told in full, and the rest by name`() throws {
        var random = SplitMix64(seed: 12)
        var checkpoints = Checkpoints()
        var seen = TokenTests.seen(shards: 256, replicas: 3, ranges: 1, &random)
        for (shard, vector) in seen { checkpoints.add(vector, to: shard) }
        let changed = (0..<10).map { _ in random.below(seen.count) }
        for index in changed {
            let (shard, vector) = seen[index]
            var more = vector
            let entry = random.pick(vector.entries)
            let greatest = try #require(entry.seqs.greatest)
            more.insert(Dot(replica: entry.replica, seq: greatest + 1))
            seen[index] = (shard, more)
        }
        let token = try TokenTests.carried(
            Token(of: seen, cluster: TokenTests.cluster, checkpoints: checkpoints))
        #expect(!token.isRounded)
        for index in changed { #expect(!token.isNamedOnly(seen[index].shard)) }
        for (shard, vector) in seen {
            // A node that knows the checkpoints alone can tell, though it holds more.
            var more = vector
            more.insert(Dot(replica: RandomID(from: &random), seq: 1))
            #expect(token.verdict(on: more, of: shard, checkpoints) == .covered)
        }
    }

    @Test func `shards that fit not even by name may all be lacking`() throws {
        var random = SplitMix64(seed: 9)
        let seen = TokenTests.seen(shards: 4_096, replicas: 1, ranges: 1, &random)
        let token = try TokenTests.carried(Token(of: seen, cluster: TokenTests.cluster))
        #expect(token.isRounded && token.shards(of: 4_096).count == 4_096)
        let unnamed = seen.filter { token.verdict(on: $0.vector, of: $0.shard) == .lacking }
        #expect(unnamed.count > 3_700)
    }

    @Test func `two replicas that look the same count for nothing and are never left out`() throws {
        var vector = Vector()
        vector.insert(SeqSet(1...5), of: RandomID(high: 7 << 32, low: 1))
        let twin = Dot(replica: RandomID(high: 7 << 32 | 1, low: 1), seq: 1)
        let seen = [(shard: ShardID(3), vector: vector)]
        let token = try TokenTests.carried(Token(of: seen, cluster: TokenTests.cluster))
        var known = vector
        known.insert(twin)
        #expect(token.minimum(of: ShardID(3), knowing: known).isEmpty)
        #expect(token.verdict(on: known, of: ShardID(3)) == .lacking)
        let both = try TokenTests.carried(
            Token(of: [(ShardID(3), known)], cluster: TokenTests.cluster))
        #expect(both.verdict(on: vector, of: ShardID(3)) == .lacking)
        #expect(both.verdict(on: known, of: ShardID(3)) == .covered)
    }

    @Test func `a damaged token is refused, and another cluster's is told`() throws {
        var random = SplitMix64(seed: 3)
        let seen = TokenTests.seen(shards: 3, replicas: 2, ranges: 2, &random)
        let token = Token(of: seen, cluster: TokenTests.cluster)
        #expect(!token.isOf(RandomID(high: 1, low: 3)))
        var characters = Array(token.text)
        for index in characters.indices {
            let before = characters[index]
            characters[index] = before == "A" ? "B" : "A"
            #expect(throws: WireError.self) { try Token(text: String(characters)) }
            characters[index] = before
        }
        #expect(throws: WireError.self) { try Token(text: String(token.text.dropLast())) }
        #expect(throws: WireError.self) { try Token(text: token.text + "A") }
        #expect(throws: WireError.self) { try Token(text: "") }
        #expect(throws: WireError.self) {
            try Token(text: String(repeating: "A", count: Token.textBytesMax + 1))
        }
    }

    @Test func `garbage is refused, and what is read is written the same`() {
        for seed in 0..<5_000 as Range<UInt64> {
            var random = SplitMix64(seed: seed)
            var body = [UInt8(1 + seed % 2)] + random.bytes(random.below(100))
            let sum = UInt32(truncatingIfNeeded: checksum(body))
            for shift: UInt32 in [24, 16, 8, 0] { body.append(UInt8(sum >> shift & 0xFF)) }
            guard let token = try? Token.decode(body) else { continue }
            // A token of earlier builds is written in the present form.
            if body[0] == 2 { #expect(token.encoded == body) }
            #expect((try? Token.decode(token.encoded)) == token)
        }
    }

    /// Returns a token as its text is read back.
    private static func carried(_ token: Token) throws -> Token {
        let read = try Token(text: token.text)
        try #require(read == token)
        return read
    }

    private static func check(
        _ seen: [(shard: ShardID, vector: Vector)], _ random: inout SplitMix64
    ) throws {
        let first = (0..<random.below(5)).map { _ in random.pick(seen).shard }
        let token = Token(of: seen, first: first, cluster: cluster)
        try #require(token.text.utf8.count <= Token.textBytesMax)
        let read = try carried(token)
        for (shard, vector) in seen.prefix(100) {
            var known = vector
            known.insert(Dot(replica: RandomID(from: &random), seq: 1))
            try #require(vector.covers(read.minimum(of: shard, knowing: known)))
            try #require(
                vector == read.minimum(of: shard, knowing: vector)
                    || vector.covers(read.minimum(of: shard, knowing: vector)))
        }
    }

    private static func seen(
        shards: Int, replicas: Int, ranges: Int, _ random: inout SplitMix64
    ) -> [(shard: ShardID, vector: Vector)] {
        (0..<shards).map { number in
            var vector = Vector()
            for _ in 0..<replicas {
                let replica = RandomID(from: &random)
                var next: UInt64 = 1
                for _ in 0..<(1 + random.below(ranges)) {
                    let end = next + UInt64(random.below(5_000))
                    vector.insert(SeqSet(next...end), of: replica)
                    next = end + 2 + UInt64(random.below(9))
                }
            }
            return (ShardID(UInt16(number)), vector)
        }
    }

    @Test func `the bytes are those of earlier builds`() throws {
        var random = SplitMix64(seed: 8)
        let tokens = [(1, 2, 1), (3, 3, 2), (64, 3, 1)].map { shards, replicas, ranges in
            let seen = TokenTests.seen(
                shards: shards, replicas: replicas, ranges: ranges, &random)
            return Token(of: seen, cluster: TokenTests.cluster).encoded
        }
        #expect(try GoldenBytes("token", of: tokens).difference() == nil)
    }
}
