import Node

/// A member that comes or goes.
struct ClusterMove {
    enum Kind: String, CaseIterable {
        /// It comes for the first time, with an empty folder.
        case join
        /// It is asked to `LEAVE`.
        case leave
        /// It is killed, and the others are asked to `FORGET` it.
        case forget
        /// It is killed for longer than the others wait for it.
        case evict
    }

    /// What comes of it afterwards.
    enum Return: String, CaseIterable {
        case never
        /// Under the same name, with its folder as it was.
        case old
        /// Under the same name, with an empty folder.
        case wiped
    }

    let at: UInt64
    let kind: Kind
    let node: Int
    let comesBack: Return
    /// How long it is out before it comes back.
    let milliseconds: UInt64
}

extension ClusterPlan {
    /// How many machines there are in all, those that join later too.
    var machines: Int { max(nodes, (moves.map(\.node).max() ?? 0) + 1) }

    /// Each of another machine; one of the first machines at least stays.
    static func moves(
        _ nodes: Int, _ chaos: UInt64, _ random: inout SeededRandom
    ) -> ([ClusterMove], evictAfterMilliseconds: UInt64) {
        let forLong = NodeOptions.evictAfterMillisecondsDefault
        guard random.chance(percent: 50) else { return ([], forLong) }
        let evictAfter = random.chance(percent: 40) ? random.between(800...4_000) : forLong
        let kinds: [ClusterMove.Kind] =
            [.leave, .leave, .forget] + (evictAfter < forLong ? [.evict, .evict] : [])
        var moves: [ClusterMove] = []
        for node in nodes..<nodes + random.pick([0, 1, 1, 2]) {
            moves.append(move(.join, node, chaos, &random))
        }
        var movers = Array(0..<nodes)
        movers.shuffle(using: &random)
        for node in movers.prefix(min(nodes - 1, random.below(4))) {
            moves.append(move(random.pick(kinds), node, chaos, &random))
        }
        return (moves, evictAfter)
    }

    private static func move(
        _ kind: ClusterMove.Kind, _ node: Int, _ chaos: UInt64, _ random: inout SeededRandom
    ) -> ClusterMove {
        ClusterMove(
            at: random.between(20...chaos), kind: kind, node: node,
            comesBack: random.pick(ClusterMove.Return.allCases),
            milliseconds: random.between(10...3_000))
    }
}
