import CRDT
import Chat
import Node
import Replication
import Wire

/// The phase after the last fault: the nodes must become equal and then stop sending.
struct QuietPhase {
    enum Stage {
        case chaos
        /// All faults have ended: the nodes must be in sync within `patienceMicroseconds`.
        case healing
        /// A few last writes were made; the nodes must be in sync within `levelMicroseconds`.
        case writing
        /// The nodes are in sync: frames that are still under way may arrive.
        case settling
        /// No frames but summaries may be sent.
        case silent
    }

    /// The limit of the time from the heal until the nodes are in sync, in microseconds.
    ///
    /// A connection that a cut left half open is given up only after six seconds.
    static let patienceMicroseconds: UInt64 = 20_000_000
    /// The limit of the time from the last write until the nodes are in sync, in microseconds;
    /// there are fewer than 1,000 changes.
    static let levelMicroseconds: UInt64 = 1_000_000
    static let pollMicroseconds: UInt64 = 20_000
    static let settlingMicroseconds: UInt64 = 1_500_000
    static let silentMicroseconds: UInt64 = 5_000_000

    var stage = Stage.chaos
    var since: UInt64 = 0
    var isOver = false
    /// The times from the heal and from the last writes until the nodes were in sync, in
    /// microseconds.
    var healedIn: UInt64 = 0
    var levelIn: UInt64 = 0
    /// The frames other than summaries that were sent in the silent stage.
    var noise: [String] = []

    mutating func recordFrame(_ frame: Frame) {
        guard case .silent = stage else { return }
        if case .summary = frame { return }
        noise.append(frame.name)
    }

    mutating func enter(_ stage: Stage, now: UInt64) {
        self.stage = stage
        since = now
    }
}

extension World {
    func onPhase() throws(Violation) {
        push(.phase, after: QuietPhase.pollMicroseconds)
        let elapsed = now - quiet.since
        switch quiet.stage {
        case .chaos:
            try healAll()
        case .healing:
            if isCaughtUp, isNetworkAtRest {
                quiet.healedIn = elapsed
                try checkEqual()
                for index in clients.sessions.indices {
                    for _ in 0..<3 { try act(index, at: clients.sessions[index].node) }
                }
                quiet.enter(.writing, now: now)
            } else if elapsed > QuietPhase.patienceMicroseconds {
                throw notCaughtUp(.equal, elapsed)
            }
        case .writing:
            if isCaughtUp {
                quiet.levelIn = elapsed
                quiet.enter(.settling, now: now)
            } else if elapsed > QuietPhase.levelMicroseconds {
                throw notCaughtUp(.quiet, elapsed)
            }
        case .settling:
            if elapsed > QuietPhase.settlingMicroseconds { quiet.enter(.silent, now: now) }
        case .silent:
            guard elapsed > QuietPhase.silentMicroseconds else { return }
            try finish()
        }
    }

    private func healAll() throws(Violation) {
        trace(15, 0, "HEAL")
        for node in nodes { try checkWhole(node) }
        try checkFilesSettled()
        // In half of the runs all nodes restart; in the others, old connections live on.
        if netRandom.chance(percent: 50) { for node in nodes { try crash(node) } }
        // Before the nodes hear from each other again, they execute the late requests.
        passTimeOfDevices()
        try arriveAllLate()
        heal()
        for node in nodes { scrub(node) }
        quiet.enter(.healing, now: now)
    }

    /// Checks every document on a node's disk, so that no bad document stays undetected.
    private func scrub(_ node: SimNode) {
        guard let shell = node.shell else { return }
        for (shard, disk) in node.disk.state.shards.enumerated() where !disk.badKeys.isEmpty {
            onBadDocuments(disk.badKeys, in: shard, node, shell)
        }
    }

    /// Whether all disks hold the same, nothing is under way, and every member serves.
    private var isCaughtUp: Bool {
        let living = nodes.filter { $0.shell != nil }
        return nodes.allSatisfy { node in
            guard let shell = node.shell else { return !isMember(node.index) }
            return !shell.isUnwell && node.pausedUntil <= now && node.view == ring
                && shell.connections.count { $0 != nil } == living.count - 1
        } && (0..<plan.shards).allSatisfy(isCaughtUp)
    }

    /// Whether all owners of a shard hold the same, and no other node holds anything of it.
    private func isCaughtUp(_ shard: Int) -> Bool {
        let owners = owners(of: shard)
        return nodes.allSatisfy { node in
            let disk = node.disk.state.shards[shard]
            guard owners.contains(where: { $0 === node }) else {
                return node.shell?.isHeld[shard] != true && (node.shell == nil || disk.isEmpty)
            }
            guard let shell = node.shell, shell.isHeld[shard] else { return false }
            let copy = shell.machines[shard].replica
            return copy.isSettled && copy.isReady && !copy.isPulling
                && disk.claim.hash == owners[0].disk.state.shards[shard].claim.hash
                && copy.storedHash == disk.claim.hash
        }
    }

    /// Whether no frame, and no end of a connection, is under way that was sent while the network
    /// was slow.
    ///
    /// Of a connection with one open end, the other process has ended it or is gone. The news of
    /// that may take as long as a slow frame; meanwhile a node counts a connection to nobody.
    var isNetworkAtRest: Bool {
        connections.allSatisfy { connection in
            guard connection.isOpen.contains(true) else { return true }
            return !connection.isOpen.contains(false)
                && connection.lastAt.allSatisfy { $0 <= now + QuietPhase.pollMicroseconds }
        }
    }

    private func notCaughtUp(_ invariant: Invariant, _ elapsed: UInt64) -> Violation {
        let lines = nodes.flatMap { node in
            (0..<plan.shards).map { shard in
                let claim = node.disk.state.shards[shard].claim
                let copy = node.shell?.machines[shard].replica
                let isOwner = owners(of: shard).contains { $0 === node }
                return "\n    \(node.name), shard \(shard)\(isOwner ? ", its own" : ""): "
                    + (copy.map { "\($0.phase)" } ?? "down")
                    + (claim.isComplete ? "" : ", incomplete")
                    + " \(claim.digest.description.prefix(6)) \(claim.vector.short)"
            }
        }
        return Violation(
            invariant: invariant,
            explanation: "not level \(elapsed / 1_000) ms after the last fault and write:"
                + lines.joined())
    }

    /// Compares the owners' disks byte for byte.
    private func checkEqual() throws(Violation) {
        for shard in 0..<plan.shards {
            let owners = owners(of: shard)
            let mine = owners[0].disk.state.shards[shard]
            for node in owners.dropFirst() {
                let theirs = node.disk.state.shards[shard]
                let isEqual =
                    mine.claim.vector == theirs.claim.vector
                    && mine.claim.digest == theirs.claim.digest
                    && mine.claim.counts == theirs.claim.counts && mine.keys == theirs.keys
                    && mine.keys.allSatisfy {
                        mine.documents[$0]?.bytes == theirs.documents[$0]?.bytes
                    }
                guard isEqual else {
                    throw Violation(
                        invariant: .equal,
                        explanation: "\(owners[0].name) and \(node.name) hold different things "
                            + "of shard \(shard) though level")
                }
            }
        }
    }

    private func finish() throws(Violation) {
        guard quiet.noise.isEmpty else {
            throw Violation(
                invariant: .quiet,
                explanation: "level, and still there travels: \(quiet.noise.prefix(10))")
        }
        try checkEqual()
        for node in nodes { try checkWhole(node) }
        for entry in ledger.entries where entry.acknowledgedOn > 0 && !entry.isLost {
            for node in owners(of: entry.shard) where !holds(entry, node) {
                throw Violation(
                    invariant: .kept,
                    explanation: "\(node.name) lacks what was acknowledged as stored on "
                        + "\(entry.acknowledgedOn): \(entry.words)")
            }
        }
        for node in nodes { try checkViews(at: node) }
        try checkEndedSignIns()
        try checkWishes()
        countConflicts()
        quiet.isOver = true
    }
}
