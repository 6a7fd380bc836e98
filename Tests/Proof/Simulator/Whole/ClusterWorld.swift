import CRDT
import Chat
import Node
import Session
import Wire

/// A scheduled event in a world of whole nodes.
enum ClusterEvent {
    case start(Int)
    case tick(ClusterAddress)
    case turn(ClusterAddress)
    case stored(ClusterAddress)
    case dialArrives(ClusterAddress, Int, String)
    case dialFailed(ClusterAddress, String, isRefused: Bool)
    case opened(Int, end: Int)
    case arrival(Int, from: Int)
    case closed(ClusterAddress, channel: UInt64)
    case fault(Int)
    case faultEnds(Int)
    /// The move of the machine with this number.
    case move(Int)
    case client(Int)
    case watcher(Int)
    case phone(Int)
    case numbering(Int)
    case addPushed(Int)
    case pushAnswered(ClusterAddress, call: UInt64, status: Int?)
    case lines(UInt64)
    case takeLines(UInt64)
    case endOfLines(UInt64)
    case replies(UInt64)
    case visitOver(UInt64, isInOrder: Bool)
    case look
}

/// A world of whole nodes in one process: the actors of the product on executors of their own, in
/// virtual time, with simulated disks, a simulated network, and clients that send lines.
///
/// The world is one loop over events; the plan and its seed determine every decision.
final class ClusterWorld {
    let plan: ClusterPlan
    var now: UInt64 = 0
    private var queue = EventQueue<ClusterEvent>()
    let machines: [ClusterMachine]
    private var processes = 0

    // The network.
    var networkRandom: SeededRandom
    var connections: [ClusterConnection] = []
    /// The connection of each channel, and the end that the channel is.
    var channels: [UInt64: (connection: Int, end: Int)] = [:]
    /// The number of faults that prevent traffic from the first machine of a pair to the second.
    var cuts: [[Int]: Int] = [:]
    /// The time at which a fault last began or ended, or will end, in microseconds.
    var disturbedAt: UInt64?
    /// The last id of a channel or visit.
    var nextID: UInt64 = 0

    // Moves of members.
    var moveRandom: SeededRandom
    let movers: [ClusterMover]
    /// Whether any move has begun.
    var hasMoved = false
    /// The conversations that all their owners had on disk before a node was cut off, with the time
    /// since when, in microseconds.
    var found: [String: UInt64] = [:]
    /// The times at which disks were lost with all their documents, in microseconds.
    var disksLostAt: [UInt64] = []
    /// The times at which leaving nodes handed shards over, in microseconds, with the number of
    /// owners that took over.
    var handovers: [(at: UInt64, owners: Int)] = []

    // The clients.
    var clientRandom: SeededRandom
    var clients: [ClusterClient] = []
    var visits: [UInt64: ClusterVisit] = [:]
    var expectations = ClusterExpectations()
    /// The time at which clients stop, in microseconds.
    var clientsUntil: UInt64 = 0

    var listRandom: SeededRandom
    var blockRandom: SeededRandom
    /// The number of messages that were sent to the conversation in which one user blocks another.
    var roomMessages = 0
    /// The number of action items that were asked for.
    var items = 0
    /// The places of messages in the order of their conversation, by id, as nodes told them.
    var places: [String: String] = [:]
    var accountRandom: SeededRandom
    /// The acknowledged sign-ins, by id, and the numbers of those and of passwords asked for.
    var signIns: [String: ClusterSignIn] = [:]
    var signInsAsked = 0
    /// The requests for accounts, by user.
    var signUps: [String: ClusterSignUps] = [:]
    var passwords = 0
    var markRandom: SeededRandom
    var profileRandom: SeededRandom
    var fileRandom: SeededRandom
    /// What was uploaded, by id and conversation.
    var files: [ClusterMessage.Name: ClusterFile] = [:]

    // The watchers.
    var watchRandom: SeededRandom
    var watchers: [ClusterWatcher] = []
    /// Whether watchers return no more.
    var isWatchingOver = false
    var losses = ClusterLosses()
    /// The messages with their possible causes, by id.
    var replies: [String: ClusterReply] = [:]
    /// The typing notices, by the connection's number.
    var typing: [TypingPlace: [UInt64: TypingWord]] = [:]

    // Devices.
    var phoneRandom: SeededRandom
    var phones: [ClusterPhone] = []
    var numberRandom: SeededRandom
    /// The clients that number their writes.
    var numbering: [NumberingClient] = []
    var pushRandom: SeededRandom
    /// The devices that are told by pushes.
    var pushed: [ClusterPhone] = []
    var arePushersStopped = false
    /// The number of pushes that the push service has received.
    var pushCount = 0
    /// The pushes that the service has refused for good.
    var refusedPushCount = 0

    private var diskRandom: SeededRandom
    private(set) var trace = ClusterTrace()
    private(set) var finding: Violation?
    private(set) var events: UInt64 = 0
    var coverage = Coverage()
    let tracer: ((String) -> Void)?

    /// The greatest difference of the wall clocks of two machines.
    private static let wallAheadMillisecondsMax: UInt64 = 200
    private static let tickMicroseconds = Node.tickMilliseconds * 1_000

    init(_ plan: ClusterPlan, tracer: ((String) -> Void)?) {
        self.plan = plan
        self.tracer = tracer
        networkRandom = SeededRandom(seed: plan.seed, stream: 102)
        diskRandom = SeededRandom(seed: plan.seed, stream: 103)
        clientRandom = SeededRandom(seed: plan.seed, stream: 104)
        var wallRandom = SeededRandom(seed: plan.seed, stream: 105)
        moveRandom = SeededRandom(seed: plan.seed, stream: 109)
        watchRandom = SeededRandom(seed: plan.seed, stream: 111)
        markRandom = SeededRandom(seed: plan.seed, stream: 114)
        profileRandom = SeededRandom(seed: plan.seed, stream: 123)
        listRandom = SeededRandom(seed: plan.seed, stream: 129)
        blockRandom = SeededRandom(seed: plan.seed, stream: 141)
        accountRandom = SeededRandom(seed: plan.seed, stream: 131)
        phoneRandom = SeededRandom(seed: plan.seed, stream: 112)
        numberRandom = SeededRandom(seed: plan.seed, stream: 143)
        fileRandom = SeededRandom(seed: plan.seed, stream: 125)
        pushRandom = SeededRandom(seed: plan.seed, stream: 127)
        movers = plan.moves.map(ClusterMover.init)
        machines = (0..<plan.machines).map { index in
            ClusterMachine(
                index, shards: plan.shards, join: index == 0 ? [] : [ClusterMachine.address(of: 0)],
                wallAheadMilliseconds: wallRandom.between(
                    0...ClusterWorld.wallAheadMillisecondsMax),
                isTraced: tracer != nil)
        }
        for mover in movers where mover.move.kind == .join {
            machines[mover.move.node].isOut = true
        }
    }

    // MARK: Time

    func push(_ event: ClusterEvent, after microseconds: UInt64) {
        queue.push(event, at: now + microseconds)
    }

    func push(_ event: ClusterEvent, at moment: UInt64) { queue.push(event, at: max(now, moment)) }

    /// Executes events until `isDone`.
    ///
    /// - Returns: false if the deadline passed first, or a violation was found.
    func run(until deadline: UInt64, or isDone: () -> Bool = { false }) -> Bool {
        while finding == nil {
            if isDone() { return true }
            guard let nextAt = queue.nextAt, nextAt <= deadline, let next = queue.pop() else {
                now = deadline
                return false
            }
            now = next.at
            events += 1
            if let machine = machine(of: next.event), machines[machine].pausedUntil > now {
                queue.push(next.event, at: machines[machine].pausedUntil)
            } else {
                happen(next.event)
            }
        }
        return false
    }

    func fail(_ invariant: Invariant, _ explanation: String) {
        guard finding == nil else { return }
        finding = Violation(
            invariant: invariant, explanation: "at \(now / 1_000) ms: \(explanation)")
    }

    func trace(_ what: String, _ machine: Int, _ detail: UInt64 = 0) {
        let entry = ClusterTrace.Entry(at: now, machine: machine, what: what, detail: detail)
        trace.append(entry)
        tracer?(entry.description)
    }

    func digest(_ bytes: [UInt8]) -> UInt64 { checksum(bytes) }

    /// Returns the machine on whose process an event happens; nil if on none.
    private func machine(of event: ClusterEvent) -> Int? {
        switch event {
        case .tick(let address), .turn(let address), .stored(let address),
            .dialFailed(let address, _, _), .closed(let address, _),
            .pushAnswered(let address, _, _):
            address.machine
        case .opened(let number, let end):
            connections[number].ends[end].address.machine
        case .arrival(let number, let from):
            connections[number].ends[1 - from].address.machine
        case .lines(let visit), .takeLines(let visit), .endOfLines(let visit):
            visits[visit]?.address.machine
        case .start, .dialArrives, .fault, .faultEnds, .move, .client, .watcher, .phone, .numbering,
            .addPushed,
            .replies, .visitOver, .look:
            nil
        }
    }

    private func happen(_ event: ClusterEvent) {
        switch event {
        case .start(let machine): start(machine)
        case .tick(let address): onTick(address)
        case .turn(let address): onTurn(address)
        case .stored(let address): onStored(address)
        case .dialArrives(let dialer, let machine, let target):
            onDialArrives(dialer, at: machine, target)
        case .dialFailed(let address, let target, let isRefused):
            step(address, "dial-failed") { process in
                process.node.assumeIsolated { $0.onDialFailed(target, isRefused: isRefused) }
            }
        case .opened(let number, let end): onOpened(number, end: end)
        case .arrival(let number, let end): onArrival(number, from: end)
        case .closed(let address, let channel):
            step(address, "closed", channel) { process in
                process.node.assumeIsolated { $0.onClosed(channel) }
            }
        case .fault(let index): begin(plan.faults[index], index)
        case .faultEnds(let index): endFault(plan.faults[index])
        case .move(let machine):
            if let mover = movers.first(where: { $0.move.node == machine }) { go(mover) }
        case .client(let index): act(clients[index])
        case .watcher(let index): act(watchers[index])
        case .phone(let index): act(phones[index])
        case .numbering(let index): act(numbering[index])
        case .addPushed(let index): addPushed(pushed[index])
        case .pushAnswered(let address, let call, let status):
            onPushAnswered(address, call: call, status: status)
        case .lines(let visit): onLines(of: visit)
        case .takeLines(let visit): takeLines(of: visit)
        case .endOfLines(let visit): onEndOfLines(of: visit)
        case .replies(let visit): onReplies(to: visit)
        case .visitOver(let visit, let isInOrder): onVisitOver(visit, isInOrder: isInOrder)
        case .look: look()
        }
    }

    // MARK: Processes

    func process(_ address: ClusterAddress) -> ClusterProcess? {
        guard let process = machines[address.machine].process, process.id == address.process
        else { return nil }
        return process
    }

    /// Runs a step of a process, and executes its effects.
    func step(
        _ address: ClusterAddress, _ what: String, _ detail: UInt64 = 0,
        _ body: (ClusterProcess) -> Void
    ) {
        guard let process = process(address) else { return }
        trace(what, address.machine, detail)
        let behind = machines[address.machine].suspendedMicroseconds
        let effects = machines[address.machine].executor.run {
            process.host.assumeIsolated { [now] in $0.setNow(now, behind: behind) }
            body(process)
            checkLimits(of: process)
            noteReading(by: process)
            noteReady(process)
            return process.host.assumeIsolated { $0.takeEffects() }
        }
        if what != "turn" { scheduleTurn(process, address) }
        for effect in effects { carryOut(effect, of: process, at: address) }
    }

    private func scheduleTurn(_ process: ClusterProcess, _ address: ClusterAddress) {
        guard !process.isTurnDue else { return }
        process.isTurnDue = true
        let wait = networkRandom.chance(percent: 60) ? 0 : networkRandom.between(0...300)
        push(.turn(address), after: wait)
    }

    private func start(_ index: Int) {
        let machine = machines[index]
        machine.isStartDue = false
        if machine.process?.isToldToStop ?? false {
            return restart(index, after: ClusterWorld.tickMicroseconds)
        }
        guard machine.process == nil, !machine.isOut else { return }
        processes += 1
        let process = machine.boot(processes, by: plan, now: now, random: &diskRandom)
        let address = ClusterAddress(machine: index, process: process.id)
        step(address, "start") { process in
            let (settings, headers, bases) = machine.disk.assumeIsolated {
                ($0.settings, $0.headers, $0.bases)
            }
            process.node.assumeIsolated {
                $0.start(settings: settings, headers: headers, bases: bases)
            }
        }
        push(.tick(address), after: networkRandom.between(0...ClusterWorld.tickMicroseconds))
    }

    private func onTick(_ address: ClusterAddress) {
        step(address, "tick") { process in
            process.node.assumeIsolated { $0.onTick() }
            guard !arePushersStopped, process.stopBy == nil else { return }
            process.pusher?.assumeIsolated { $0.onTick() }
        }
        guard process(address) != nil else { return }
        let late = networkRandom.chance(percent: 4) ? networkRandom.between(0...50_000) : 0
        push(.tick(address), after: ClusterWorld.tickMicroseconds + late)
        continueStop(address)
    }

    private func onTurn(_ address: ClusterAddress) {
        process(address)?.isTurnDue = false
        step(address, "turn") { process in process.node.assumeIsolated { $0.onTurnEnd() } }
        continueStop(address)
    }

    private func onStored(_ address: ClusterAddress) {
        let disk = machines[address.machine].disk
        step(address, "stored") { process in
            process.isWriting = false
            guard let result = disk.assumeIsolated({ $0.finish() }) else { return }
            if result.failure != nil { coverage.count("commit failed") }
            process.node.assumeIsolated { $0.onCommitted(result.ticket, failure: result.failure) }
        }
        guard let process = process(address) else { return }
        write(process, at: address)
    }

    private func write(_ process: ClusterProcess, at address: ClusterAddress) {
        let machine = machines[address.machine]
        let isWaiting = machine.executor.run { machine.disk.assumeIsolated { $0.isWaiting } }
        guard !process.isWriting, isWaiting else { return }
        process.isWriting = true
        let time =
            machine.isSlow > 0
            ? diskRandom.between(50_000...500_000)
            : diskRandom.chance(percent: 5)
                ? diskRandom.between(1_000...40_000) : diskRandom.between(80...900)
        push(.stored(address), after: time)
    }

    // MARK: Effects

    private func carryOut(
        _ effect: ClusterEffect, of process: ClusterProcess, at address: ClusterAddress
    ) {
        switch effect {
        case .dial(let target): dial(target, from: address)
        case .ready: process.isReady = true
        case .end(let ending): onEnding(ending, of: process, at: address)
        case .turnAgain: scheduleTurn(process, address)
        case .clientsHeld(let isHeld): holdClients(isHeld, of: process, at: address)
        case .log(let line):
            tracer?("    n\(address.machine + 1) \(line)")
            // The network changes no bytes, so a refused frame is a defect.
            if line.contains("frame refused:") || line.contains("unreadable frame:") {
                fail(.badRecord, "n\(address.machine + 1) \(line)")
            }
        case .push(let call, let body): carryPush(body, call: call, from: address)
        case .commit:
            noteDrops(by: machines[address.machine])
            write(process, at: address)
        case .emptyLog:
            step(address, "log emptied") { process in
                process.node.assumeIsolated { $0.onLogEmptied(failure: nil) }
            }
        case .send(let channel, let bytes):
            guard let (number, end) = channels[channel], !connections[number].ends[end].isOver
            else { return }
            transmit(.bytes(bytes), on: number, from: end)
        case .pause(let channel, let isPaused): pauseChannel(channel, isPaused)
        case .close(let channel): closeChannel(channel)
        case .reply(let visit, let bytes): deliver(bytes, to: visit)
        case .holdLines(let visit, let isHeld): holdLines(of: visit, isHeld)
        case .finish(let visit): finish(visit)
        }
    }

    func holdClients(_ isHeld: Bool, of process: ClusterProcess, at address: ClusterAddress) {
        process.isHoldingClients = isHeld
        for visit in visits(at: address) {
            step(address, "hold") { _ in visit.session?.assumeIsolated { $0.setHeld(isHeld) } }
        }
        // What a pusher has begun is ended before its process ends.
        guard process.stopBy == nil else { return }
        step(address, "hold") { $0.pusher?.assumeIsolated { $0.setHeld(isHeld) } }
    }

    private func onEnding(
        _ ending: Ending, of process: ClusterProcess, at address: ClusterAddress
    ) {
        switch ending {
        case .shutdown:
            guard process.stopBy == nil else { return }
            process.stopBy = now + ClusterProcess.stopMicroseconds
            if !process.isToldToStop { onHandedOver(machines[address.machine]) }
            step(address, "stop") { process in
                process.node.assumeIsolated { $0.stopWaiting() }
                process.pusher?.assumeIsolated { $0.drain() }
            }
            holdClients(true, of: process, at: address)
        case .diskFailed(let reason) where reason.contains("which cluster"):
            coverage.count("ended: no room for the cluster")
            kill(address.machine)
            restart(address.machine, after: 300_000)
        case .badOption(let reason), .unusable(let reason), .diskFailed(let reason):
            fail(.running, "n\(address.machine + 1) ends: \(reason)")
        }
    }

    /// Ends a stopping process once all that it had begun is done, or its time is over.
    private func continueStop(_ address: ClusterAddress) {
        guard let process = process(address), let stopBy = process.stopBy else { return }
        let sessions = visits(at: address).compactMap(\.session)
        let isDone = machines[address.machine].executor.run {
            process.node.assumeIsolated { $0.isSettled }
                && sessions.allSatisfy { !$0.assumeIsolated { $0.isAnswering } }
                && process.pusher?.assumeIsolated { $0.isBusy } != true
        }
        guard isDone || now >= stopBy else { return }
        coverage.count(isDone ? "stopped in order" : "stopped late")
        kill(address.machine)
    }
}
