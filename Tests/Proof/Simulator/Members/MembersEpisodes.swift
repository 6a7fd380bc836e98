import Membership
import Wire

/// The episodes of the world of members; each has faults, a heal, and checks.
extension MembersWorld {
    /// The limit of the time from a heal until all members have one view, in milliseconds.
    static let oneViewWithin: UInt64 = 1_000
    /// The limit of the time from a kill until every member considers the victim dead, in
    /// milliseconds.
    static let killSeenWithin: UInt64 = 1_000
    /// The limit of the time from a member's last message until all consider it dead, in
    /// milliseconds.
    static let silenceSeenWithin: UInt64 = 6_100
    /// The limit of gossip between two members at rest, in bytes per second, in clusters of five or
    /// more.
    static let idleBytesMax: UInt64 = 60

    func runEpisodes() throws(Violation) {
        let count = random.chance(percent: 70) ? 2 + random.below(4) : 5 + random.below(7)
        try found(members: count)
        for _ in 0..<(2 + random.below(4)) {
            // Waits longer than the grace period of a start or a pause.
            try run(milliseconds: 1_200 + random.between(0...1_000))
            mayDie = []
            try runEpisode()
        }
    }

    private func runEpisode() throws(Violation) {
        let several = running.count >= 3
        switch random.below(16) {
        case 0: try rest()
        case 1, 2: try killSome()
        case 3: try restartFast()
        case 4, 5: try pauseShortly()
        case 6: try pauseLong()
        case 7, 8: try cutInTwo()
        case 9 where several, 10 where several: try cutPartly()
        case 11 where running.count < 12: try join()
        case 12 where several: try leaveOrForget()
        case 13: try resetLinks()
        case 14: try twin()
        default: try chaos()
        }
    }

    /// Starts the first member, which founds the cluster, and the others, which join it.
    func found(members count: Int) throws(Violation) {
        for index in 0..<count {
            let node = add(NodeName(checked: "n\(index)"))
            start(node, table: nil, contact: index == 0 ? nil : 0)
        }
        try awaitOneView(within: 2_000, after: "the founding")
    }

    private func rest() throws(Violation) {
        try run(milliseconds: 3_000)
        let before = gossipBytes
        let seconds: UInt64 = 30
        try run(milliseconds: seconds * 1_000)
        coverage.count("rest")
        let members = UInt64(running.count)
        let pairs = members * (members - 1) / 2
        guard members >= 5, gossipBytes - before > MembersWorld.idleBytesMax * seconds * pairs
        else { return }
        throw Violation(
            invariant: .gossipBounds,
            explanation: "\((gossipBytes - before) / seconds / pairs) bytes a second and pair")
    }

    private func killSome() throws(Violation) {
        let victims = Array(
            running.shuffled(using: &random).prefix(1 + random.below(max(1, running.count - 1))))
        mayDie = Set(victims.map(\.name))
        for victim in victims { kill(victim) }
        coverage.count("kill")
        try run(milliseconds: MembersWorld.killSeenWithin)
        try require(victims, .dead ... .left, at: running, .seenDead, after: "a kill")
        try run(milliseconds: random.pick([0, 1_000, 20_000]))
        if let evictAfter, evictAfter <= 30_000, random.chance(percent: 30) {
            try run(milliseconds: evictAfter + 500)
            try requireEviction(of: victims)
        }
        for victim in victims { startAgain(victim) }
        try awaitOneView(within: MembersWorld.oneViewWithin, after: "a start")
    }

    /// Requires that a majority evicts the dead members, and that a minority evicts nobody.
    private func requireEviction(of victims: [MembersNode]) throws(Violation) {
        let members = running.first?.core?.table.entries.count { $0.state != .left } ?? 0
        let isMajority = running.count * 2 > members
        coverage.count(isMajority ? "eviction" : "no eviction")
        let states = isMajority ? MemberState.evicted ... .left : .dead ... .dead
        try require(
            victims, states, at: running, isMajority ? .seenDead : .eviction, after: "eviction")
    }

    /// Starts a killed member with or without its table, and sometimes with a clock that went back.
    private func startAgain(_ node: MembersNode) {
        let contact = running.map(\.slot).filter { $0 != node.slot }.min()
        let keepsTable = random.chance(percent: 60) || contact == nil
        start(
            node, table: keepsTable ? node.savedTable : nil, contact: contact,
            isClockBack: random.chance(percent: 20))
        coverage.count(keepsTable ? "start with a table" : "start without a table")
    }

    private func restartFast() throws(Violation) {
        let victim = random.pick(running)
        let others = running.filter { $0.slot != victim.slot }
        mayDie = [victim.name]
        for other in others { other.restartsSeen = [:] }
        kill(victim)
        try run(milliseconds: random.between(1...50))
        startAgain(victim)
        coverage.count("fast restart")
        try awaitOneView(within: MembersWorld.oneViewWithin, after: "a fast restart")
        for other in others where other.restartsSeen[victim.name] == nil {
            throw Violation(
                invariant: .seenDead,
                explanation: "\(other.name) has not seen that \(victim.name) restarted")
        }
    }

    private func pauseShortly() throws(Violation) {
        let paused = running.shuffled(using: &random).prefix(1 + random.below(2))
        for node in paused { pause(node) }
        try run(milliseconds: random.between(1_000...5_000))
        for node in paused { resume(node) }
        coverage.count("short pause")
        try awaitOneView(within: MembersWorld.oneViewWithin, after: "a short pause")
        try run(milliseconds: 1_500)
    }

    private func pauseLong() throws(Violation) {
        let victim = random.pick(running)
        mayDie = [victim.name]
        pause(victim)
        try run(milliseconds: MembersWorld.silenceSeenWithin)
        let others = running.filter { $0.slot != victim.slot }
        try require([victim], .dead ... .left, at: others, .seenDead, after: "silence")
        try run(milliseconds: random.between(0...60_000))
        resume(victim)
        coverage.count("long pause")
        try awaitOneView(within: MembersWorld.oneViewWithin, after: "a long pause")
        try run(milliseconds: 1_500)
    }

    /// Splits the members into two sides that do not hear each other.
    private func cutInTwo() throws(Violation) {
        guard running.count >= 2 else { return }
        let mixed = running.shuffled(using: &random)
        let size = 1 + random.below(mixed.count - 1)
        let sides = (Array(mixed[..<size]), Array(mixed[size...]))
        let isShort = random.chance(percent: 30)
        if !isShort { mayDie = Set(mixed.map(\.name)) }
        for one in sides.0 {
            for other in sides.1 {
                cut(one.slot, other.slot)
                cut(other.slot, one.slot)
            }
        }
        if isShort {
            try run(milliseconds: random.between(100...4_000))
        } else {
            try run(milliseconds: MembersWorld.silenceSeenWithin)
            try require(sides.0, .dead ... .left, at: sides.1, .seenDead, after: "a cut")
            try require(sides.1, .dead ... .left, at: sides.0, .seenDead, after: "a cut")
            let isHours = random.below(400) == 0
            try run(milliseconds: random.between(0...(isHours ? 7_200_000 : 60_000)))
        }
        healCuts()
        coverage.count(isShort ? "short cut" : "cut")
        try awaitOneView(within: MembersWorld.oneViewWithin, after: "the cut")
    }

    /// Cuts some connections in one or both directions; every member is still heard by another.
    private func cutPartly() throws(Violation) {
        let members = running.shuffled(using: &random)
        // The first keeps all its connections: it hears everybody and is heard by everybody.
        for one in members.dropFirst() {
            for other in members.dropFirst() where one.slot != other.slot {
                if random.chance(percent: 30) { cut(one.slot, other.slot) }
            }
        }
        try run(milliseconds: random.between(1_000...40_000))
        healCuts()
        coverage.count("partial cut")
        try awaitOneView(within: MembersWorld.oneViewWithin, after: "a partial cut")
        try run(milliseconds: 1_500)
    }

    private func join() throws(Violation) {
        let contact = random.pick(running).slot
        let node = add(NodeName(checked: "n\(nodes.count)"))
        start(node, table: nil, contact: contact)
        coverage.count("join")
        try awaitOneView(within: MembersWorld.oneViewWithin, after: "a join")
    }

    private func leaveOrForget() throws(Violation) {
        let victim = random.pick(running)
        if random.chance(percent: 50) {
            trace("leave \(victim.name)")
            call(victim) { $0.leave(now: now) }
            victim.hasLeft = true
            try run(milliseconds: 1_000)
            kill(victim)
            coverage.count("leave")
        } else {
            mayDie = [victim.name]
            kill(victim)
            try run(milliseconds: MembersWorld.killSeenWithin)
            let asked = random.pick(running)
            guard call(asked, { $0.forgetMember(victim.name, now: now) }) == true else {
                throw Violation(invariant: .seenDead, explanation: "the dead is not forgotten")
            }
            coverage.count("forget")
        }
        try run(milliseconds: 1_000)
        try require([victim], .left ... .left, at: running, .oneView, after: "who left")
        guard random.chance(percent: 50) else { return }
        startAgain(victim)
        try awaitOneView(within: MembersWorld.oneViewWithin, after: "coming back")
    }

    private func resetLinks() throws(Violation) {
        for one in running {
            for other in running where other.slot > one.slot && random.chance(percent: 40) {
                reset(one, other)
            }
        }
        // With two members on slow connections, no third can be asked for an indirect probe: a
        // member may be considered dead before the new dial succeeds.
        if isSlow, running.count < 3 { mayDie = Set(running.map(\.name)) }
        coverage.count("reset")
        try awaitOneView(within: MembersWorld.oneViewWithin, after: "resets")
        try run(milliseconds: 1_000)
        try awaitOneView(within: MembersWorld.oneViewWithin, after: "resets")
    }

    private func twin() throws(Violation) {
        guard running.count >= 2 else { return }
        let first = random.pick(running)
        let second = add(first.name)
        let contact = running.first { $0.slot != first.slot }?.slot
        mayDie = Set(nodes.map(\.name))
        hasTwins = true
        let table = random.chance(percent: 50) ? first.core?.table : nil
        start(second, table: table, contact: contact)
        try run(milliseconds: 5_000)
        guard first.hasSeenTwin || second.hasSeenTwin else {
            throw Violation(invariant: .twins, explanation: "the two \(first.name) did not notice")
        }
        kill(random.chance(percent: 50) ? first : second)
        coverage.count("twins")
        // The last message of the killed twin may still be under way, and so may its refutation.
        try run(milliseconds: 2_500)
        hasTwins = false
        try awaitOneView(within: MembersWorld.oneViewWithin, after: "a twin's end")
    }

    /// Applies random faults, after which any member may be considered dead until the heal.
    private func chaos() throws(Violation) {
        mayDie = Set(nodes.map(\.name))
        for _ in 0..<(3 + random.below(12)) {
            disturb()
            try run(milliseconds: random.between(0...3_000))
        }
        healCuts()
        for node in nodes where node.isPaused { resume(node) }
        joinIslands()
        coverage.count("chaos")
        try awaitOneView(
            ofLiving: true, within: MembersWorld.oneViewWithin, after: "chaos")
        // A member that died behind a cut died in silence, and a pause delays its detection.
        try run(milliseconds: MembersWorld.silenceSeenWithin + Timing.grace)
        try awaitOneView(within: MembersWorld.oneViewWithin, after: "chaos and silence")
    }

    /// Connects members that know no address of the others, as an operator would.
    ///
    /// A member that started without a table knows its contact alone, which may have ended before
    /// it answered. If no chain of contacts and member tables leads from a member to the first
    /// running one, that one becomes its contact.
    private func joinIslands() {
        guard let first = running.first else { return }
        var isJoined: Set<Int> = []
        for node in running where !isJoined.contains(node.slot) {
            if node.slot != first.slot {
                node.contact = first.slot
                trace("\(node.name) gets the contact \(first.slot)")
                coverage.count("new contact")
            }
            var next = [node]
            while let node = next.popLast() {
                guard isJoined.insert(node.slot).inserted else { continue }
                next += running.filter { knows($0, node) || knows(node, $0) }
            }
        }
    }

    /// Whether one machine's process has the other's address: as its contact or in its table.
    private func knows(_ one: MembersNode, _ other: MembersNode) -> Bool {
        one.contact == other.slot
            || one.core?.table.entries.contains {
                $0.state != .left && addresses[$0.member.gossip] == other.slot
            } ?? false
    }

    private func disturb() {
        let alive = running
        guard let one = alive.isEmpty ? nil : random.pick(alive) else { return }
        let other = random.pick(alive)
        switch random.below(7) {
        case 0 where alive.count > 1: kill(one)
        case 1, 2:
            let names = Set(alive.map(\.name))
            let gone = nodes.filter { !$0.isRunning && !names.contains($0.name) }
            if !gone.isEmpty { startAgain(random.pick(gone)) }
        case 3: one.isPaused ? resume(one) : pause(one)
        case 4 where one.slot != other.slot:
            cut(one.slot, other.slot)
            if random.chance(percent: 50) { cut(other.slot, one.slot) }
        case 5 where one.slot != other.slot: reset(one, other)
        default: healCuts()
        }
    }
}
