import Node

/// A member that joins, leaves or dies during a run.
struct ClusterMove {
    enum Kind: String, CaseIterable {
        /// The member joins for the first time, with an empty folder.
        case join
        /// The member receives `LEAVE`.
        case leave
        /// The member is killed, and the others receive `FORGET` for it.
        case forget
        /// The member is killed for longer than the eviction time.
        case evict
    }

    /// The return of the member afterwards.
    enum Return: String, CaseIterable {
        case never
        /// The member returns under the same name, with its folder as it was.
        case old
        /// The member returns under the same name, with an empty folder.
        case wiped
    }

    let at: UInt64
    let kind: Kind
    let node: Int
    let comesBack: Return
    /// The time between its departure and its return.
    let milliseconds: UInt64
}

extension ClusterPlan {
    /// The number of all machines, including those that join later.
    var machines: Int { max(nodes, (moves.map(\.node).max() ?? 0) + 1) }

    /// Draws the moves, each of another machine; at least one of the first machines stays.
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
