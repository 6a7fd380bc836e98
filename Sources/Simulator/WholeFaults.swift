import CRDT
import Chat
import Wire

/// The faults of a plan, as they begin and end.
extension WholeWorld {
    func begin(_ fault: WholeFault, _ index: Int) {
        note(fault.kind.rawValue, fault.node, fault.milliseconds)
        // What ends by itself, a pause for one, ends by then.
        disturbedAt = max(disturbedAt ?? 0, now + fault.milliseconds * 1_000)
        coverage.count(fault.kind.rawValue)
        let (lasts, machine) = (fault.milliseconds * 1_000, machines[fault.node])
        switch fault.kind {
        case .kill:
            kill(fault.node)
            restart(fault.node, after: lasts)
        case .killAll:
            for machine in machines {
                kill(machine.index)
                restart(machine.index, after: networkDice.between(0...lasts))
            }
        case .wipe:
            kill(fault.node)
            wipe(machine)
            restart(fault.node, after: lasts)
        case .stop:
            guard let process = machine.process else { return }
            let address = WholeAddress(machine: fault.node, process: process.id)
            step(address, "shutdown") { process in process.node.assumeIsolated { $0.shutDown() } }
            push(.faultEnds(index), after: lasts + WholeProcess.stopMicroseconds)
        case .pause:
            guard machine.process != nil else { return }
            machine.pausedUntil = max(machine.pausedUntil, now + lasts)
        case .cut, .cutOneWay, .isolate:
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
        }
    }

    func end(_ fault: WholeFault) {
        disturbedAt = max(disturbedAt ?? 0, now)
        let machine = machines[fault.node]
        switch fault.kind {
        case .stop:
            restart(fault.node, after: 0)
        case .cut, .cutOneWay, .isolate:
            for pair in pairs(cutBy: fault) { cuts[pair, default: 0] -= 1 }
            for other in fault.kind == .isolate ? Array(machines.indices) : [fault.other]
            where other != fault.node {
                mend(fault.node, other)
            }
        case .diskFull: setFull(machine, by: -1)
        case .diskSlow: machine.isSlow -= 1
        case .kill, .killAll, .wipe, .pause, .reset: break
        }
    }

    private func pairs(cutBy fault: WholeFault) -> [[Int]] {
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

    private func setFull(_ machine: WholeMachine, by change: Int) {
        machine.fullBy += change
        machine.executor.run {
            machine.disk.assumeIsolated { [isFull = machine.fullBy > 0] in $0.setFull(isFull) }
        }
    }

    // MARK: Processes

    /// `kill -9`, or the end of a process by itself.
    func kill(_ index: Int) {
        let machine = machines[index]
        machine.pausedUntil = 0
        guard let process = machine.process else { return }
        let address = WholeAddress(machine: index, process: process.id)
        note("gone", index, UInt64(process.id))
        machine.process = nil
        let keepsFirst = process.isWriting && networkDice.chance(percent: 50)
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

    /// Empties the folder of a machine, unless it is the last that knows the cluster.
    private func wipe(_ machine: WholeMachine) {
        let others = machines.filter { $0.index != machine.index }
        let knows = others.contains { other in
            other.executor.run { other.disk.assumeIsolated { $0.settings["cluster"] != nil } }
        }
        guard knows else { return coverage.count("wipe of the last folder left out") }
        noteLosses(machine, others)
        machine.executor.run { machine.disk.assumeIsolated { $0.wipe() } }
        machine.join = others.map(\.address)
        coverage.count("folder emptied")
    }

    /// What no other disk holds is lost with this one, and nobody may ask for it.
    private func noteLosses(_ machine: WholeMachine, _ others: [WholeMachine]) {
        func documents(_ machine: WholeMachine) -> [DocumentKey: [UInt8]] {
            machine.executor.run { machine.disk.assumeIsolated { $0.documents } }
        }
        let elsewhere = others.map(documents)
        for (key, bytes) in documents(machine) {
            let isHeld = elsewhere.contains { holds($0[key], of: key, all: bytes) }
            if !isHeld, book.lost.insert(key.id).inserted { coverage.count("lost with its disk") }
        }
    }

    private func holds(_ theirs: [UInt8]?, of key: DocumentKey, all bytes: [UInt8]) -> Bool {
        guard let theirs else { return false }
        guard theirs != bytes else { return true }
        do throws(WireError) {
            let held = try Document(key, decoding: theirs)
            var merged = held
            merged.merge(try Document(key, decoding: bytes))
            return merged == held
        } catch {
            fail(.running, "a disk holds what is no document: \(error)")
            return false
        }
    }
}
