import CRDT
import Chat
import Node
import Replication
import StorePort
import Wire

/// The events of a process: frames, ticks, the ends of turns, and reports of its disk.
extension World {
    private static let tickMicroseconds: UInt64 = 100_000

    /// The time without any connection after which a node serves what is on its disk.
    private static let aloneMicroseconds: UInt64 = 1_000_000

    func scheduleTurn(_ shell: Shell) {
        guard !shell.isTurnDue else { return }
        shell.isTurnDue = true
        let wait = netRandom.chance(percent: 60) ? 0 : netRandom.between(0...300)
        push(.turn(shell.address), after: wait)
    }

    // MARK: Frames

    func receive(_ bytes: [UInt8], from peer: Int, at shell: Shell) throws(Violation) {
        let frame: Frame
        do throws(WireError) {
            frame = try Frame.decode(bytes)
        } catch {
            throw Violation(
                invariant: .badRecord, explanation: "a node sent a frame that is none: \(error)")
        }
        if let tracer { tracer("    \(frame.name)") }
        coverage.count(frame.kind)
        shell.links[peer]?.onHeard(now: milliseconds)
        switch frame {
        case .summary(let theirs):
            try onSummary(theirs, from: peer, at: shell)
        case .hashes(let theirs):
            compare(theirs, with: peer, at: shell)
        case .push, .confirm, .check, .offer, .pull, .batch, .done, .broken, .seek, .absent,
            .handover, .accept, .inquiry, .report:
            try receive(frame, from: peer, at: shell)
        }
        scheduleTurn(shell)
    }

    private func compare(_ theirs: [Frame.ShardHash], with peer: Int, at shell: Shell) {
        let ours = shell.hashes(sharedWith: names[peer])
        for entry in theirs {
            guard let mine = ours.first(where: { $0.shard == entry.shard }) else { continue }
            if mine.hash == entry.hash {
                shell.machines[Int(entry.shard.number)].onCaughtUp(
                    with: names[peer], isServing: entry.isServing)
            } else {
                shell.machines[Int(entry.shard.number)].offer(to: names[peer])
            }
        }
    }

    private func receive(_ frame: Frame, from peer: Int, at shell: Shell) throws(Violation) {
        guard let shard = frame.shard, !shell.isUnwell else { return }
        guard shell.isHeld[Int(shard.number)] else {
            if let answer = frame.answerWithoutReplica {
                try send(answer, to: peer, from: shell)
            }
            return
        }
        let node = nodes[shell.address.node]
        noteHeard(frame, of: shard, from: peer, shell)
        let wasComplete = shell.machines[Int(shard.number)].replica.current.isComplete
        do throws(ShardFailure) {
            try shell.machines[Int(shard.number)].receive(
                frame, from: names[peer], in: world(of: node, shell))
            observe(shell.machines[Int(shard.number)].greatestTime, node, shell)
        } catch {
            guard error.isDamage else {
                throw Violation(
                    invariant: .badRecord,
                    explanation: "\(node.name) cannot take \(frame.name): \(error)")
            }
        }
        try noteDerived(Int(shard.number), node, shell)
        if !wasComplete, shell.machines[Int(shard.number)].replica.current.isComplete {
            try checkVoucher(frame, node)
        }
        noticeBadDocuments(node, shell)
    }

    /// Records what a frame says that the peer holds, for `lowerFloor` and `checkAccepted`.
    private func noteHeard(_ frame: Frame, of shard: ShardID, from peer: Int, _ shell: Shell) {
        switch frame {
        case .report(_, let askedAt, let claim):
            shell.reports[peer][Int(shard.number)] = Shell.Report(
                askedAt: askedAt, vector: claim?.vector ?? Vector())
        case .accept:
            shell.accepted[peer].insert(Int(shard.number))
        default: break
        }
    }

    /// Checks that a replica was completed by one that may serve: a replica that is catching up may
    /// lack what other nodes have shown.
    private func checkVoucher(_ frame: Frame, _ node: SimNode) throws(Violation) {
        guard case .done(let shard, _, _, let claim) = frame else { return }
        coverage.count("completed by another")
        guard claim.isServing else {
            throw Violation(
                invariant: .deleted,
                explanation: "\(node.name) takes its replica of shard \(shard) for complete by one "
                    + "that is catching up")
        }
    }

    private func onSummary(
        _ theirs: Frame.Summary, from peer: Int, at shell: Shell
    ) throws(Violation) {
        let hashes = shell.hashes(sharedWith: names[peer])
        let ours = PeerSync.summary(of: hashes)
        guard shell.links[peer]?.onSummary(theirs.hash, ours: ours, now: milliseconds) == true
        else {
            try send(.hashes(hashes), to: peer, from: shell)
            return
        }
        for entry in hashes {
            shell.machines[Int(entry.shard.number)].onCaughtUp(
                with: names[peer], isServing: !theirs.unready.contains(entry.shard))
        }
    }

    // MARK: Ticks and turns

    func onTick(_ address: Shell.Address) throws(Violation) {
        guard let shell = shell(address) else { return }
        let node = nodes[address.node]
        let jitter = netRandom.chance(percent: 5) ? netRandom.between(0...50_000) : 0
        push(.tick(address), after: World.tickMicroseconds + jitter)
        for shard in shell.held {
            let before = shell.machines[shard].replica.phase
            try settle(shell.machines[shard].onTick(now: milliseconds), at: shell)
            if before != .serving, shell.machines[shard].replica.phase == .serving {
                lowerFloor(of: node, shard, shell)
            }
        }
        try tendFiles(node, shell)
        for peer in shell.links.indices where peer != address.node {
            if let link = shell.links[peer] {
                if link.isSilent(now: milliseconds), let index = shell.connections[peer] {
                    coverage.count("silence")
                    close(index, by: connections[index].end(of: address.node))
                }
            } else if address.node < peer, now >= shell.dialAt[peer], !shell.isUnwell {
                dial(from: node, to: peer, shell)
            }
        }
        if shell.isAlone, now >= shell.aloneSince + World.aloneMicroseconds {
            if !shell.wasAlone {
                shell.wasAlone = true
                coverage.count("alone")
            }
            // Repeated at each tick: a shard that becomes owned meanwhile need not wait either.
            for shard in shell.held { shell.machines[shard].onNobodyReached() }
            node.minimums = node.minimums.map { _ in Vector() }
        }
        if !shell.isAlone { shell.wasAlone = false }
        try onTurn(address)
    }

    /// The time for which a file may be unsent, in milliseconds.
    private static let unsentMilliseconds: UInt64 = 1_000

    /// Returns a table by which, in the second half of the chaos, a user's account is deleted.
    ///
    /// The user goes on all the same, as one does on the other side of a network partition.
    private func departed(at wall: UInt64) -> SigningTable {
        var table = SigningTable()
        guard milliseconds > plan.chaosMilliseconds / 2 else { return table }
        let revocation = SigningTable.Revocation(
            name: clients.users[0], through: table.deletion(of: clients.users[0], now: wall),
            made: wall)
        _ = table.insert(revocation, now: wall)
        return table
    }

    private func tendFiles(_ node: SimNode, _ shell: Shell) throws(Violation) {
        // In the quiet phase nothing is written any more.
        guard plan.hasFiles, !shell.isUnwell, !conditions.isFair else { return }
        for shard in shell.held where shell.machines[shard].hasFilesToTend(now: milliseconds) {
            let world = world(of: node, shell)
            let wall = world.judge.wallMilliseconds
            let owners = shell.machines[shard].replica.ownership.owners
            let duty = ShardMachine.FileDuty(
                limit: 4, isFirst: owners.first == node.name, isEverybodyHeard: true,
                deadline: HybridTimestamp(
                    milliseconds: wall - min(wall, World.unsentMilliseconds)),
                signing: departed(at: wall))
            do throws(ShardFailure) {
                _ = try shell.machines[shard].tendFiles(duty, in: world)
            } catch {
                guard error.isDamage else {
                    throw Violation(
                        invariant: .badRecord, explanation: "\(node.name) cannot purge: \(error)")
                }
            }
            try noteDerived(shard, node, shell)
        }
    }

    /// Lowers the minimum of a shard that serves because no complete replica could be reached: it
    /// may lack what none of the reached nodes said that it holds.
    ///
    /// What a disk stores while an answer is on its way cannot be known to the node that decides.
    /// Only the report of a peer that was asked late enough for the decision is an answer; of any
    /// other peer, the node must know all that is on its disk. The time is counted from
    /// where the world set the minimum, not from where the replica says that it began to catch up.
    private func lowerFloor(of node: SimNode, _ shard: Int, _ shell: Shell) {
        var reached = Vector()
        let cuts = conditions.cuts
        let decidableFrom = node.minimumsSince[shard] + World.aloneMicroseconds / 1_000
        for (peer, connection) in shell.connections.enumerated() where connection != nil {
            if let report = shell.reports[peer][shard], report.askedAt >= decidableFrom {
                reached.formUnion(report.vector)
            } else if cuts[peer][node.index] + cuts[node.index][peer] == 0 {
                reached.formUnion(nodes[peer].disk.state.shards[shard].claim.vector)
            }
        }
        node.minimums[shard] = node.minimums[shard].intersection(reached)
    }

    func onTurn(_ address: Shell.Address) throws(Violation) {
        guard let shell = shell(address) else { return }
        let node = nodes[address.node]
        shell.isTurnDue = false
        shell.ticket += 1
        // At each turn, also one without a write: all that was taken in is handed out now.
        let earliest = node.wall.takeEarliest(now: now)
        var writes: [ShardWrite] = []
        for shard in shell.held {
            if let write = shell.machines[shard].takeWrite(shell.ticket) { writes.append(write) }
        }
        checkForeign(node, shell)
        let drops = setAside(node, shell) + (try beginDrops(node, shell))
        if !writes.isEmpty || !drops.isEmpty {
            node.disk.hand(
                in: writes, dropping: drops, ticket: shell.ticket, at: earliest)
            beginWriting(node)
        }
        for shard in shell.held {
            try settle(shell.machines[shard].takeSettled(now: milliseconds), at: shell)
            serve(shard, node, shell)
            for (to, frame) in shell.machines[shard].takeOutbox() {
                try send(frame, to: index(of: to), from: shell)
            }
            if let peer = shell.machines[shard].takeDivergences().first {
                throw Violation(
                    invariant: .equal,
                    explanation: "\(node.name) and \(peer) claim the same of shard \(shard) "
                        + "and hold different documents")
            }
        }
        noticeBadDocuments(node, shell)
        try sendSummaries(shell)
        try endIfHandedOver(node, shell)
    }

    private func serve(_ shard: Int, _ node: SimNode, _ shell: Shell) {
        for name in shell.machines[shard].replica.served {
            let peer = index(of: name)
            guard shell.queues[peer].frames.count < SendQueue.servingMax else { continue }
            shell.machines[shard].serveBatch(to: name, reader: node.disk)
            if shell.machines[shard].replica.served.contains(name) { scheduleTurn(shell) }
        }
    }

    private func sendSummaries(_ shell: Shell) throws(Violation) {
        for peer in shell.links.indices
        where shell.links[peer]?.takesSummary(now: milliseconds) == true {
            let hashes = shell.hashes(sharedWith: names[peer])
            let summary = Frame.Summary(hash: PeerSync.summary(of: hashes), unready: shell.unready)
            try send(.summary(summary), to: peer, from: shell)
        }
    }

    func index(of name: NodeName) -> Int {
        guard let index = names.firstIndex(of: name) else {
            preconditionFailure("machines know the names of the world's nodes only")
        }
        return index
    }

    // MARK: Disk

    private func beginWriting(_ node: SimNode) {
        guard !node.disk.isWriting, !node.disk.waiting.isEmpty else { return }
        node.disk.isWriting = true
        let wait: UInt64
        if node.disk.isSlow > 0 {
            wait = 500_000
        } else if !conditions.isFair, diskRandom.chance(percent: 1) {
            wait = diskRandom.between(20_000...500_000)
        } else {
            wait =
                conditions.isFair || diskRandom.chance(percent: 70)
                ? diskRandom.between(100...2_000) : diskRandom.between(2_000...20_000)
        }
        push(.diskDone(node: node.index, epoch: node.disk.epoch), after: wait)
    }

    func onDiskDone(_ node: SimNode, _ epoch: Int) throws(Violation) {
        guard node.disk.epoch == epoch, let (commit, isFailed) = node.disk.finish() else { return }
        if !isFailed { try apply(commit, on: node) }
        if let shell = node.shell {
            let at = max(shell.reportedAt + 1, now + diskRandom.between(0...1_000))
            shell.reportedAt = at
            queue.push(
                .diskReported(shell.address, ticket: commit.ticket, isFailed: isFailed), at: at)
        }
        beginWriting(node)
    }

    func onDiskReported(
        _ address: Shell.Address, _ ticket: UInt64, isFailed: Bool
    ) throws(Violation) {
        guard let shell = shell(address), ticket > shell.failedThrough else { return }
        trace(6, ticket, "n\(address.node + 1) commit \(ticket) \(isFailed ? "failed" : "done")")
        if isFailed {
            coverage.count("commit-failed")
            shell.failedThrough = shell.ticket
            for shard in shell.repairs.indices { shell.repairs[shard]?.header = nil }
            for shard in shell.machines.indices {
                for slot in shell.machines[shard].onCommitFailed(now: milliseconds) {
                    requests[Int(slot.number)].state = .failed
                }
            }
            onDropsReported(nodes[address.node], shell, ticket, isFailed: true)
            nodes[address.node].disk.resume()
        } else {
            for shard in shell.machines.indices {
                try settle(
                    shell.machines[shard].onCommitted(ticket, now: milliseconds), at: shell)
                finishRepair(of: shard, shell, ticket)
            }
            onDropsReported(nodes[address.node], shell, ticket, isFailed: false)
        }
        scheduleTurn(shell)
    }

    // MARK: Bad documents

    func noticeBadDocuments(_ node: SimNode, _ shell: Shell) {
        for shard in shell.machines.indices {
            guard let damage = shell.machines[shard].takeDamage() else { continue }
            if damage.documents.isEmpty { coverage.count("damaged-index-met") }
            onBadDocuments(damage.documents, in: shard, node, shell)
        }
    }

    /// Checks the disk of replicas that are to be handed over, before they are offered.
    private func checkForeign(_ node: SimNode, _ shell: Shell) {
        for shard in shell.held where shell.machines[shard].replica.needsCheck {
            let disk = node.disk.state.shards[shard]
            if !disk.badKeys.isEmpty || !disk.misindexed.isEmpty {
                coverage.count("damage found before a handover")
                onBadDocuments(disk.badKeys, in: shard, node, shell)
            } else {
                shell.machines[shard].onChecked(shell.machines[shard].replica.stored)
            }
        }
    }

    /// Closes every connection; none is opened before the disk has removed the bad documents.
    func onBadDocuments(_ bad: [DocumentKey], in shard: Int, _ node: SimNode, _ shell: Shell) {
        trace(7, UInt64(bad.count), "\(node.name) met \(bad.count) bad documents")
        coverage.count("bad-document-met")
        guard shell.drops[shard] == nil, shell.repairs[shard]?.header == nil else { return }
        shell.repairs[shard] = Shell.Repair(bad: (shell.repairs[shard]?.bad ?? []) + bad)
        shell.machines[shard].suspend(now: milliseconds)
        for index in shell.connections.compactMap({ $0 }) {
            close(index, by: connections[index].end(of: node.index))
        }
        scheduleTurn(shell)
    }

    /// Returns the writes that remove bad documents from shards with no commit under way.
    private func setAside(_ node: SimNode, _ shell: Shell) -> [SimDisk.Commit.Part] {
        var drops: [SimDisk.Commit.Part] = []
        for (shard, machine) in shell.machines.enumerated() {
            guard let repair = shell.repairs[shard], repair.header == nil, machine.replica.isSettled
            else { continue }
            let removed =
                repair.bad
                + node.disk.state.shards[shard].badKeys.filter {
                    !repair.bad.contains($0)
                }
            var header = node.disk.state.shards[shard].header(without: Set(removed))
            if removed.isEmpty, machine.replica.stored.isRemaining(header) {
                header = machine.replica.stored
            }
            header.raise(to: machine.replica.stored.greatest, at: wall(of: node))
            shell.repairs[shard]?.header = header
            shell.repairs[shard]?.ticket = shell.ticket
            drops.append(
                SimDisk.Commit.Part(removing: removed, of: shard, header: header.encoded))
        }
        return drops
    }

    /// Completes a repair once the disk has removed the shard's bad documents.
    private func finishRepair(of shard: Int, _ shell: Shell, _ ticket: UInt64) {
        guard let repair = shell.repairs[shard], let header = repair.header,
            repair.ticket <= ticket
        else { return }
        shell.repairs[shard] = nil
        for slot in shell.machines[shard].onSetAside(
            header, at: wall(of: nodes[shell.address.node]), now: milliseconds)
        {
            requests[Int(slot.number)].state = .failed
        }
        observe(header.greatest, nodes[shell.address.node], shell)
        coverage.count("set-aside")
        trace(8, UInt64(shard), "n\(shell.address.node + 1) set documents of shard \(shard) aside")
    }

    /// Returns per shard what every other complete disk holds: the minimum for a process that
    /// starts.
    func minimum(of node: SimNode) -> [Vector] {
        (0..<plan.shards).map { shard in
            let others = nodes.filter { $0 !== node }.map { $0.disk.state.shards[shard].claim }
                .filter(\.isComplete).map(\.vector)
            guard let first = others.first else { return Vector() }
            return others.dropFirst().reduce(first) { $0.intersection($1) }
        }
    }

    /// Lowers all expectations after a disk lost data: no node can have changes that exist nowhere.
    func onDestroyed(_ node: SimNode) {
        node.destroyedAt = now
        node.deletions = Deletions()
        let left = node.disk.state.shards.map(\.claim.vector)
        for other in nodes where other !== node {
            other.minimums = zip(other.minimums, left).map { $0.intersection($1) }
        }
        ledger.noteLost { entry in nodes.contains { keeps(entry, $0) } }
    }

    /// Whether a disk holds the change and no commit under way drops its shard replica.
    func keeps(_ entry: Ledger.Entry, _ node: SimNode) -> Bool {
        holds(entry, node) && node.shell?.drops[entry.shard] == nil
    }

    /// Whether a disk has a document with this change in it.
    ///
    /// The vector may lack the change's seq: if that exists nowhere any more, a later one of the
    /// same replica id and document includes its effect.
    func holds(_ entry: Ledger.Entry, _ node: SimNode) -> Bool {
        let stored = node.disk.state.shards[entry.shard].documents[entry.mutation.key]
        return stored?.changedBy.contains(entry.dot) ?? false
    }
}

extension ShardFailure {
    /// Whether a read met damaged bytes.
    var isDamage: Bool {
        switch self {
        case .store(.badRecord), .store(.badIndex): true
        default: false
        }
    }
}

extension Vector {
    func intersection(_ other: Vector) -> Vector { subtracting(subtracting(other)) }
}

extension Frame {
    /// The kind of the frame, without its fields.
    var kind: String { String(name.prefix { $0 != " " }) }
}
