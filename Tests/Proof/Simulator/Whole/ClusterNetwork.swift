import Node

/// A connection between two processes: two ends, and the items in transit from each to the other.
struct ClusterConnection {
    struct End {
        let address: ClusterAddress
        let channel: UInt64
        /// Whether the process knows the connection, and it has not ended there.
        var isOpen = false
        /// Whether the process closed it, was told of its end, or never accepted it.
        var isOver = false
        /// Whether the process accepts no bytes.
        var isPaused = false
    }

    enum Item {
        case bytes([UInt8])
        /// The other end closed the connection, or its process is gone.
        case end
    }

    /// The dialling end and the accepting end.
    var ends: [End]
    /// Per sending end, the items in transit with their arrival times.
    var pipes: [[(at: UInt64, item: Item)]] = [[], []]
    /// Per sending end, the arrival time of its last item: no item overtakes another.
    var lastAt: [UInt64] = [0, 0]
    /// The address that was dialled.
    let dialed: String
}

/// The network between whole nodes: ordered streams with delays, and cuts that stall them.
extension ClusterWorld {
    /// The time after which an unanswered dial fails, in microseconds.
    private static let dialMicroseconds: UInt64 = 1_000_000

    func isCut(from: Int, to: Int) -> Bool { cuts[[from, to], default: 0] > 0 }

    private func delay() -> UInt64 {
        networkRandom.chance(percent: 4)
            ? networkRandom.between(1_000...60_000) : networkRandom.between(30...900)
    }

    // MARK: Dials

    func dial(_ target: String, from address: ClusterAddress) {
        let machine = machines.first { $0.address == target }
        guard let machine, !isCut(from: address.machine, to: machine.index),
            !isCut(from: machine.index, to: address.machine)
        else {
            coverage.count("dial timed out")
            push(
                .dialFailed(address, target, isRefused: false), after: ClusterWorld.dialMicroseconds
            )
            return
        }
        push(.dialArrives(address, machine.index, target), after: delay())
    }

    func onDialArrives(_ dialer: ClusterAddress, at index: Int, _ target: String) {
        guard process(dialer) != nil else { return }
        guard let process = machines[index].process else {
            coverage.count("dial refused")
            push(.dialFailed(dialer, target, isRefused: true), after: delay())
            return
        }
        let acceptor = ClusterAddress(machine: index, process: process.id)
        let number = connections.count
        nextID += 2
        connections.append(
            ClusterConnection(
                ends: [
                    ClusterConnection.End(address: dialer, channel: nextID - 1),
                    ClusterConnection.End(address: acceptor, channel: nextID),
                ],
                dialed: target))
        channels[nextID - 1] = (number, 0)
        channels[nextID] = (number, 1)
        push(.opened(number, end: 1), after: delay())
        push(.opened(number, end: 0), after: delay())
    }

    func onOpened(_ number: Int, end: Int) {
        let connection = connections[number]
        guard !connection.ends[end].isOver else { return }
        connections[number].ends[end].isOpen = true
        let id = connection.ends[end].channel
        step(connection.ends[end].address, "opened", id) { process in
            let channel = ClusterChannel(id, host: process.host)
            let dialed = end == 0 ? connection.dialed : nil
            process.node.assumeIsolated { $0.onChannel(channel, dialed: dialed) }
        }
        kick(number, from: 1 - end)
    }

    // MARK: Streams

    func transmit(_ item: ClusterConnection.Item, on number: Int, from end: Int) {
        let at = max(connections[number].lastAt[end], now + delay())
        connections[number].lastAt[end] = at
        connections[number].pipes[end].append((at, item))
        push(.arrival(number, from: end), at: at)
    }

    /// Lets stalled items arrive.
    func kick(_ number: Int, from end: Int) {
        for _ in connections[number].pipes[end] {
            push(.arrival(number, from: end), after: networkRandom.between(10...400))
        }
    }

    /// Delivers the first item in transit from an end, unless a cut or the receiver prevents it.
    func onArrival(_ number: Int, from end: Int) {
        let connection = connections[number]
        let (source, target) = (connection.ends[end], connection.ends[1 - end])
        guard let first = connection.pipes[end].first, first.at <= now,
            !isCut(from: source.address.machine, to: target.address.machine)
        else { return }
        if target.isOver {
            connections[number].pipes[end] = []
            return
        }
        guard target.isOpen, !target.isPaused else { return }
        connections[number].pipes[end].removeFirst()
        switch first.item {
        case .end:
            over(number, end: 1 - end)
            step(target.address, "ended", target.channel) { process in
                process.node.assumeIsolated { $0.onClosed(target.channel) }
            }
        case .bytes(let bytes):
            if let sender = process(source.address) {
                machines[source.address.machine].executor.run {
                    sender.host.assumeIsolated { $0.onTaken(bytes.count, from: source.channel) }
                }
            }
            receive(bytes, at: target)
        }
    }

    private func receive(_ bytes: [UInt8], at end: ClusterConnection.End) {
        step(end.address, "bytes", digest(bytes)) { process in
            bytes.withUnsafeBytes { bytes in
                // SAFETY: the node reads the buffer during this call only, on this thread.
                nonisolated(unsafe) let bytes = bytes
                process.node.assumeIsolated { $0.onBytes(bytes, on: end.channel) }
            }
        }
    }

    private func over(_ number: Int, end: Int) {
        connections[number].ends[end].isOver = true
        connections[number].pipes[1 - end] = []
    }

    // MARK: Ends

    /// Closes a process's end: items that it sent before still arrive.
    func closeChannel(_ channel: UInt64) {
        guard let (number, end) = channels[channel], !connections[number].ends[end].isOver else {
            return
        }
        over(number, end: end)
        transmit(.end, on: number, from: end)
        push(.closed(connections[number].ends[end].address, channel: channel), after: 1)
    }

    func pauseChannel(_ channel: UInt64, _ isPaused: Bool) {
        guard let (number, end) = channels[channel] else { return }
        connections[number].ends[end].isPaused = isPaused
        if !isPaused { kick(number, from: 1 - end) }
    }

    /// Ends the connections of a process that is gone; for 16 % of them, the machine sends no end.
    func dropConnections(of address: ClusterAddress) {
        for number in connections.indices {
            for end in 0...1
            where connections[number].ends[end].address == address
                && !connections[number].ends[end].isOver
            {
                over(number, end: end)
                if networkRandom.chance(percent: 16) {
                    coverage.count("half-open")
                    connections[number].pipes[end] = []
                } else {
                    transmit(.end, on: number, from: end)
                }
            }
        }
    }

    /// Breaks the connections between two machines: both ends are told, and items in transit are
    /// lost.
    func breakConnections(_ one: Int, _ other: Int) {
        for number in connections.indices {
            let pair = connections[number].ends.map(\.address.machine)
            guard pair == [one, other] || pair == [other, one] else { continue }
            for end in 0...1 where !connections[number].ends[1 - end].isOver {
                connections[number].pipes[end] = []
                connections[number].lastAt[end] = now
                transmit(.end, on: number, from: end)
            }
        }
    }

    /// Ends a cut: the connections that it stalled continue, or turn out to be broken.
    func mend(_ one: Int, _ other: Int) {
        guard !isCut(from: one, to: other), !isCut(from: other, to: one) else { return }
        if networkRandom.chance(percent: 35) {
            coverage.count("broken by a cut")
            breakConnections(one, other)
            return
        }
        coverage.count("stalled by a cut")
        for number in connections.indices {
            let pair = connections[number].ends.map(\.address.machine)
            guard pair == [one, other] || pair == [other, one] else { continue }
            for end in 0...1 { kick(number, from: end) }
        }
    }
}
