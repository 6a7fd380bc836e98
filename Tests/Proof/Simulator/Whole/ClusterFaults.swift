import CRDT
import Chat
import Node
import Wire

/// The execution of a plan's faults: their beginnings and ends.
extension ClusterWorld {
    func begin(_ fault: ClusterFault, _ index: Int) {
        trace(fault.kind.rawValue, fault.node, fault.milliseconds)
        // A fault without an end event, such as a pause, is over by then.
        disturbedAt = max(disturbedAt ?? 0, now + fault.milliseconds * 1_000)
        noteDisturbed(fault, until: now + fault.milliseconds * 1_000)
        coverage.count(fault.kind.rawValue)
        let (lasts, machine) = (fault.milliseconds * 1_000, machines[fault.node])
        switch fault.kind {
        case .kill:
            kill(fault.node)
            restart(fault.node, after: lasts)
        case .killAll:
            for machine in machines {
                kill(machine.index)
                restart(machine.index, after: networkRandom.between(0...lasts))
            }
        case .wipe:
            kill(fault.node)
            _ = wipe(machine)
            restart(fault.node, after: lasts)
        case .stop:
            guard let process = machine.process else { return }
            process.isToldToStop = true
            let address = ClusterAddress(machine: fault.node, process: process.id)
            step(address, "shutdown") { process in process.node.assumeIsolated { $0.shutDown() } }
            push(.faultEnds(index), after: lasts + ClusterProcess.stopMicroseconds)
        case .pause:
            guard machine.process != nil else { return }
            machine.pausedUntil = max(machine.pausedUntil, now + lasts)
        case .suspend:
            guard machine.process != nil, machine.pausedUntil <= now else { return }
            machine.suspend(for: lasts, now: now)
        case .cut, .cutOneWay, .isolate:
            if plan.cutsMinority { noteFound() }
            for pair in pairs(cutBy: fault) { cuts[pair, default: 0] += 1 }
            push(.faultEnds(index), after: lasts)
        case .reset:
            breakConnections(fault.node, fault.other)
        case .diskFull:
            setFull(machine, by: 1)
            push(.faultEnds(index), after: lasts)
        case .diskSlow:
            machine.isSlow += 1
            push(.faultEnds(index), after: lasts)
        case .block, .blockIn, .blockOut:
            hasMoved = true
            let way = [.blockIn: " in", .blockOut: " out"][fault.kind] ?? ""
            let line = "BLOCK \(machines[fault.other].name)\(way)"
            guard order(line, codes: [404], to: fault.node) != nil else { return }
            push(.faultEnds(index), after: lasts)
        case .wrongClock:
            setClock(
                machine, error: fault.other % 2 == 0 ? ClusterWorld.years : -ClusterWorld.years)
            push(.faultEnds(index), after: lasts)
        }
    }

    /// The error of a wrong clock: ten years, in milliseconds.
    private static let years: Int64 = 10 * 365 * 86_400_000

    private func setClock(_ machine: ClusterMachine, error: Int64) {
        machine.wallErrorMilliseconds = error
        guard let host = machine.process?.host else { return }
        machine.executor.run { host.assumeIsolated { $0.setWallError(error) } }
    }

    func endFault(_ fault: ClusterFault) {
        disturbedAt = max(disturbedAt ?? 0, now)
        noteDisturbed(fault, until: now)
        let machine = machines[fault.node]
        switch fault.kind {
        case .stop:
            // A process that was paused or suspended meanwhile still has to stop: the start waits.
            restart(fault.node, after: 0)
        case .cut, .cutOneWay, .isolate:
            for pair in pairs(cutBy: fault) { cuts[pair, default: 0] -= 1 }
            for other in fault.kind == .isolate ? Array(machines.indices) : [fault.other]
            where other != fault.node {
                mend(fault.node, other)
            }
        case .diskFull: setFull(machine, by: -1)
        case .diskSlow: machine.isSlow -= 1
        case .block, .blockIn, .blockOut:
            // If the node takes no clients now, the heal sends `UNBLOCK` again.
            _ = order("UNBLOCK \(machines[fault.other].name)", codes: [404], to: fault.node)
        case .wrongClock: setClock(machine, error: 0)
        case .kill, .killAll, .wipe, .pause, .suspend, .reset: break
        }
    }

    /// Records the machines whose communication a fault prevents or delays.
    private func noteDisturbed(_ fault: ClusterFault, until moment: UInt64) {
        let concerned: [Int]
        switch fault.kind {
        case .diskFull, .diskSlow, .wrongClock: concerned = []
        case .killAll, .isolate: concerned = Array(machines.indices)
        default: concerned = [fault.node, fault.other]
        }
        for index in concerned {
            machines[index].disturbedAt = max(machines[index].disturbedAt ?? 0, moment)
        }
    }

    private func pairs(cutBy fault: ClusterFault) -> [[Int]] {
        switch fault.kind {
        case .cutOneWay:
            [[fault.node, fault.other]]
        case .isolate:
            machines.indices.filter { $0 != fault.node }
                .flatMap { [[fault.node, $0], [$0, fault.node]] }
        default:
            [[fault.node, fault.other], [fault.other, fault.node]]
        }
    }

    private func setFull(_ machine: ClusterMachine, by change: Int) {
        machine.fullBy += change
        machine.fullChangedAt = now
        machine.executor.run {
            machine.disk.assumeIsolated { [isFull = machine.fullBy > 0] in $0.setFull(isFull) }
        }
    }

    // MARK: Processes

    /// Ends a process as `kill -9` does, or as if it had ended by itself.
    func kill(_ index: Int) {
        let machine = machines[index]
        machine.wake(now: now)
        guard let process = machine.process else { return }
        let address = ClusterAddress(machine: index, process: process.id)
        trace("gone", index, UInt64(process.id))
        machine.process = nil
        machine.executor.run { process.pusher?.assumeIsolated { $0.end() } }
        let keepsFirst = process.isWriting && networkRandom.chance(percent: 50)
        machine.executor.run { machine.disk.assumeIsolated { $0.onCrash(keepsFirst: keepsFirst) } }
        dropConnections(of: address)
        for visit in visits(at: address) {
            visit.session = nil
            push(.visitOver(visit.id, isInOrder: false), at: visit.repliesAt + 1)
        }
    }

    func restart(_ index: Int, after microseconds: UInt64) {
        guard !machines[index].isStartDue else { return }
        machines[index].isStartDue = true
        push(.start(index), after: microseconds)
    }

    /// Empties the folder of a machine, unless no other machine knows the cluster.
    ///
    /// - Returns: whether it did.
    func wipe(_ machine: ClusterMachine) -> Bool {
        guard !isLastToKnow(machine) else {
            coverage.count("wipe of the last folder left out")
            return false
        }
        let others = machines.filter { $0.index != machine.index && !$0.isGone }
        noteLosses(machine, others)
        noteLostDocuments(of: machine, others)
        noteGivenUp(machine, besides: others.filter { !$0.isOut })
        machine.executor.run { machine.disk.assumeIsolated { $0.wipe() } }
        machine.join = others.map(\.address)
        coverage.count("folder emptied")
        return true
    }

    /// Whether no other machine that will run again knows the cluster.
    func isLastToKnow(_ machine: ClusterMachine) -> Bool {
        !machines.contains { other in
            other.index != machine.index && !other.isGone
                && other.executor.run {
                    other.disk.assumeIsolated { $0.settings["cluster"] != nil }
                }
        }
    }

    /// Checks that every fact acknowledged on more disks than were lost is on another disk, and
    /// stops expecting those that were on lost disks only.
    private func noteLosses(_ machine: ClusterMachine, _ others: [ClusterMachine]) {
        disksLostAt.append(now)
        let mine = messages(in: machine.documents)
        let notOwner = others.map { messages(in: $0.documentsKept) }
        for (id, message) in mine.sorted(by: { $0.key < $1.key }) {
            let others = notOwner.compactMap { $0[id] }
            let (forgiven, broken) = expectations.lose(
                id, { holds(message, $1, of: $0) },
                isElsewhere: { known, fact in others.contains { holds($0, fact, of: known) } })
            if !forgiven.isEmpty { coverage.count("lost with its disk") }
            if forgiven.isEmpty { coverage.count("kept beside a lost disk") }
            guard let fact = broken.first else { continue }
            fail(.kept, "the disk of \(machine.name) alone had of \(id): \(fact)")
        }
    }

    func isOnSomeDisk(_ name: ClusterMessage.Name, _ fact: ClusterFact) -> Bool {
        guard let known = expectations.messages[name.id] else { return false }
        return machines.contains { machine in
            messages(in: machine.documents)[name.id].map { holds($0, fact, of: known) } ?? false
        }
    }

    private func messages(in documents: [DocumentKey: [UInt8]]) -> [String: Message] {
        var found: [String: Message] = [:]
        do throws(WireError) {
            for (key, bytes) in documents where key.kind == .message {
                found[key.id] = try Document(key, decoding: bytes).message
            }
        } catch {
            fail(.running, "a disk holds what is no document: \(error)")
        }
        return found
    }

    private func holds(_ message: Message, _ fact: ClusterFact, of known: ClusterMessage) -> Bool {
        switch fact {
        case .sent: true
        case .retracted: message.isRetracted
        // A user who requested a restore may see the message, whichever request was executed first.
        case .hidden(let user):
            known.restoresAsked.contains(user)
                || message.deletedBy.elements.contains { $0.text == user }
        case .edited(let text):
            message.isRetracted || message.versions.contains { $0.text == text }
        }
    }
}
