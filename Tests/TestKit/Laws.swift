import CRDT
import Wire

/// A law that did not hold, and the seed of the world in which it failed.
package struct BrokenLaw: Error, CustomStringConvertible {
    package let description: String
}

/// The laws of a join, checked on the states that real replicas reach.
///
/// A world has a few replicas with clocks of their own. Each changes its own state, merges any
/// state that was ever sent, late, twice and out of order, restarts, and sometimes loses its disk.
package struct Laws<State: Hashable & Sendable>: Sendable {
    /// Returns the state after one more mutation, nil where nothing changes; nil stands for no
    /// state.
    package typealias Mutate =
        @Sendable (State?, inout Writer, inout SplitMix64) throws -> State?

    private let mutate: Mutate
    private let merge: @Sendable (inout State, State) -> Void
    private let encode: @Sendable (State) -> [UInt8]
    private let decode: @Sendable ([UInt8]) throws -> State
    private let greatestTime: @Sendable (State) -> HybridTimestamp

    package init(
        merge: @escaping @Sendable (inout State, State) -> Void,
        encode: @escaping @Sendable (State) -> [UInt8],
        decode: @escaping @Sendable ([UInt8]) throws -> State,
        greatestTime: @escaping @Sendable (State) -> HybridTimestamp = { _ in .zero },
        mutate: @escaping Mutate
    ) {
        self.mutate = mutate
        self.merge = merge
        self.encode = encode
        self.decode = decode
        self.greatestTime = greatestTime
    }

    /// - Throws: `BrokenLaw`.
    package func check(seeds: Range<UInt64>) throws {
        for seed in seeds {
            var random = SplitMix64(seed: seed)
            var world = World(of: 2 + random.below(3), random: &random)
            for _ in 0..<20 { try step(&world, &random) }
            guard !world.sent.isEmpty else { continue }
            for _ in 0..<4 { try checkTriple(of: world.sent, seed, &random) }
            try checkOrders(of: world.sent, seed, &random)
            try checkExchange(in: world, seed)
        }
    }

    /// Compares the states that a few worlds pass through with the golden bytes of that name.
    ///
    /// - Returns: the difference; nil if there is none.
    package func golden(_ name: String, beside path: String = #filePath) throws -> String? {
        try GoldenBytes(name, of: states(seeds: 0..<3).map(encode), beside: path).difference()
    }

    /// Returns the states that the worlds of these seeds pass through.
    package func states(seeds: Range<UInt64>) throws -> [State] {
        try seeds.flatMap { seed in
            var random = SplitMix64(seed: seed)
            var world = World(of: 2 + random.below(3), random: &random)
            for _ in 0..<20 { try step(&world, &random) }
            return world.sent
        }
    }
}

extension Laws {
    private struct World {
        struct Replica {
            var writer: Writer
            var state: State?
        }

        var replicas: [Replica]
        /// Every state that a replica ever had; all of them may still arrive.
        var sent: [State] = []

        init(of count: Int, random: inout SplitMix64) {
            replicas = []
            for _ in 0..<count {
                let wall = 1_000_000_000 + UInt64(random.below(3)) * 3_600_000
                let writer = Writer(replica: RandomID(from: &random), wallMilliseconds: wall)
                replicas.append(Replica(writer: writer, state: nil))
            }
        }
    }

    private func step(_ world: inout World, _ random: inout SplitMix64) throws {
        let index = random.below(world.replicas.count)
        var replica = world.replicas[index]
        switch random.below(20) {
        case 0: replica.writer.wallMilliseconds += 3_600_000
        case 1: replica.writer.wallMilliseconds -= 3_600_000
        case 2:
            if random.chance(30) { replica.state = nil }
            let greatest = replica.state.map(greatestTime) ?? .zero
            replica.writer.restart(as: RandomID(from: &random), startingAfter: greatest)
        case 3...9 where !world.sent.isEmpty:
            let arrived = random.pick(world.sent)
            replica.writer.observe(greatestTime(arrived))
            replica.state = replica.state.map { joined($0, arrived) } ?? arrived
        default:
            replica.writer.wallMilliseconds += UInt64(random.below(2))
            let state = try mutate(replica.state, &replica.writer, &random)
            replica.state = state ?? replica.state
        }
        if let state = replica.state { world.sent.append(state) }
        world.replicas[index] = replica
    }

    private func joined(_ left: State, _ right: State) -> State {
        var left = left
        merge(&left, right)
        return left
    }

    private func require(
        _ left: State, _ right: State, _ law: String, _ seed: UInt64
    ) throws {
        guard left == right, encode(left) == encode(right) else {
            throw BrokenLaw(description: "\(law), seed \(seed): \(left) is not \(right)")
        }
    }

    private func checkTriple(
        of states: [State], _ seed: UInt64, _ random: inout SplitMix64
    ) throws {
        let (a, b, c) = (random.pick(states), random.pick(states), random.pick(states))
        let ab = joined(a, b)
        try require(joined(a, a), a, "idempotent", seed)
        try require(joined(ab, a), ab, "absorbing", seed)
        try require(joined(b, a), ab, "commutative", seed)
        try require(joined(ab, c), joined(a, joined(b, c)), "associative", seed)
        try require(try decode(encode(ab)), ab, "decode(encode(x)) = x", seed)
    }

    /// Checks that merges in any order, with duplicates, give the same state.
    private func checkOrders(
        of states: [State], _ seed: UInt64, _ random: inout SplitMix64
    ) throws {
        var orders = states.shuffled(using: &random)
        let one = orders.dropFirst().reduce(orders[0], joined)
        orders += orders.prefix(states.count / 2)
        orders.shuffle(using: &random)
        let other = orders.dropFirst().reduce(orders[0], joined)
        try require(one, other, "any order", seed)
    }

    /// Checks that replicas that have exchanged everything have identical bytes.
    private func checkExchange(in world: World, _ seed: UInt64) throws {
        let current = world.replicas.compactMap(\.state)
        guard let first = current.first else { return }
        let all = current.dropFirst().reduce(first, joined)
        for state in current {
            try require(current.reduce(state, joined), all, "exchanged everything", seed)
        }
    }
}
