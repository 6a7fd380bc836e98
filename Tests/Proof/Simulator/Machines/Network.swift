import CRDT
import Node
import Replication
import Wire

/// One connection: two ordered streams that end together, though not always at the same moment.
final class Connection {
    /// The nodes of the two ends: 0 dialled, 1 accepted.
    let nodes: [Int]
    let starts: [Int]
    var isOpen = [false, false]
    var isUp = [false, false]
    /// The number of frames in flight per direction, indexed by the sending end.
    var inFlight = [0, 0]
    var lastAt: [UInt64] = [0, 0]
    /// Frames sent into a cut, by sending end: delivered when the cut ends, as TCP does, or lost
    /// with the connection.
    var stalled: [[[UInt8]]] = [[], []]
    let connectedAt: UInt64

    init(_ nodes: [Int], _ starts: [Int], now: UInt64) {
        self.nodes = nodes
        self.starts = starts
        connectedAt = now
    }
}

/// The conditions of the network between any two nodes.
struct NetworkConditions {
    /// The number of cuts from one node to another.
    var cuts: [[Int]]
    var slow: [[Int]]
    var narrow: [[Int]]
    /// Whether the chaos is over: delays are short and no fault applies.
    var isFair = false

    init(nodes: Int) {
        cuts = Array(repeating: Array(repeating: 0, count: nodes), count: nodes)
        slow = cuts
        narrow = cuts
    }
}

extension World {
    /// The number of frames in flight per direction at which further frames wait.
    private static let windowFrames = 8

    func dial(from node: SimNode, to peer: Int, _ shell: Shell) {
        shell.dialAt[peer] = now + netRandom.between(100_000...500_000)
        guard let other = nodes[peer].shell, !other.isUnwell,
            conditions.cuts[node.index][peer] == 0, conditions.cuts[peer][node.index] == 0
        else { return }
        let connection = Connection(
            [node.index, peer], [shell.address.start, other.address.start], now: now)
        connections.append(connection)
        let there = delay(node.index, peer)
        connection.lastAt = [now + there, now + 2 * there]
        push(.connected(connection: connections.count - 1, end: 1), after: there)
        push(.connected(connection: connections.count - 1, end: 0), after: 2 * there)
        shell.dialAt[peer] += 2 * there
        connection.isOpen = [true, true]
    }

    func onConnected(_ index: Int, _ end: Int) {
        let connection = connections[index]
        // Nobody answers a dial that no process has accepted, also if a cut swallows the refusal.
        let isAccepted = end == 1 || connection.isUp[1]
        guard let shell = shell(of: connection, end), connection.isOpen[end], isAccepted,
            !shell.isUnwell
        else {
            close(index, by: end)
            return
        }
        let peer = connection.nodes[1 - end]
        if let old = shell.connections[peer] {
            close(old, by: connections[old].end(of: shell.address.node))
        }
        connection.isUp[end] = true
        shell.connections[peer] = index
        shell.links[peer] = PeerSync(to: names[peer], now: milliseconds)
        trace(1, UInt64(peer), "n\(shell.address.node + 1) connected to \(names[peer])")
        for shard in shell.machines.indices { shell.machines[shard].onPeerUp(names[peer]) }
        refreshOwnership(nodes[shell.address.node], shell)
        scheduleTurn(shell)
    }

    func shell(of connection: Connection, _ end: Int) -> Shell? {
        shell(Shell.Address(node: connection.nodes[end], start: connection.starts[end]))
    }

    /// Closes one end of a connection; the other end learns of it unless a cut lies between them.
    func close(_ index: Int, by end: Int) {
        let connection = connections[index]
        guard connection.isOpen[end] else { return }
        connection.isOpen[end] = false
        removeConnection(index, end)
        connection.stalled[end] = []
        guard connection.isOpen[1 - end],
            conditions.cuts[connection.nodes[end]][connection.nodes[1 - end]] == 0
        else {
            return
        }
        let isGraceful = netRandom.chance(percent: 50)
        let at = now + delay(connection.nodes[end], connection.nodes[1 - end])
        queue.push(
            .closed(connection: index, end: 1 - end),
            at: isGraceful ? max(at, connection.lastAt[end] + 1) : at)
    }

    func onClosed(_ index: Int, _ end: Int) {
        let connection = connections[index]
        guard connection.isOpen[end] else { return }
        connection.isOpen[end] = false
        trace(
            2, UInt64(end), "n\(connection.nodes[end] + 1) lost \(names[connection.nodes[1 - end]])"
        )
        coverage.count("connection-lost")
        removeConnection(index, end)
    }

    private func removeConnection(_ index: Int, _ end: Int) {
        let connection = connections[index]
        let peer = connection.nodes[1 - end]
        guard connection.isUp[end], let shell = shell(of: connection, end),
            shell.connections[peer] == index
        else {
            return
        }
        shell.connections[peer] = nil
        shell.links[peer] = nil
        shell.queues[peer] = SendQueue()
        shell.reports[peer] = [:]
        shell.accepted[peer] = []
        if shell.isAlone { shell.aloneSince = now }
        for shard in shell.machines.indices { shell.machines[shard].onPeerDown(names[peer]) }
        refreshOwnership(nodes[shell.address.node], shell)
        scheduleTurn(shell)
    }

    /// Sends a frame to a peer, or queues it behind waiting frames, or drops it if the queue is
    /// full.
    func send(_ frame: Frame, to peer: Int, from shell: Shell) throws(Violation) {
        guard let index = shell.connections[peer] else { return }
        let bytes = frame.encoded
        guard bytes.count <= Envelope.plainBytesMax else {
            throw Violation(
                invariant: .bounded, explanation: "a frame of \(bytes.count) bytes: \(frame.name)")
        }
        trace(3, UInt64(bytes.count), "n\(shell.address.node + 1) → \(names[peer]) \(frame.name)")
        quiet.recordFrame(frame)
        if shell.queues[peer].frames.isEmpty, hasCapacity(connections[index], from: shell) {
            transmit(bytes, on: index, from: connections[index].end(of: shell.address.node))
        } else if shell.queues[peer].frames.count < SendQueue.framesMax {
            shell.queues[peer].frames.append(bytes)
        } else {
            coverage.count("frame-dropped")
            trace(4, 0, "  dropped: the queue is full")
            shell.queues[peer].drop(frame.shard)
            if let shard = frame.shard {
                shell.machines[Int(shard.number)].onDropped(
                    frame, to: names[peer], now: milliseconds)
            }
        }
    }

    private func hasCapacity(_ connection: Connection, from shell: Shell) -> Bool {
        let end = connection.end(of: shell.address.node)
        let isNarrow = conditions.narrow[connection.nodes[end]][connection.nodes[1 - end]] > 0
        return connection.inFlight[end] < (isNarrow ? 1 : World.windowFrames)
    }

    private func transmit(_ bytes: [UInt8], on index: Int, from end: Int) {
        let connection = connections[index]
        let (from, to) = (connection.nodes[end], connection.nodes[1 - end])
        connection.inFlight[end] += 1
        guard conditions.cuts[from][to] == 0, connection.stalled[end].isEmpty else {
            connection.stalled[end].append(bytes)
            return
        }
        deliver(bytes, on: index, from: end)
    }

    private func deliver(_ bytes: [UInt8], on index: Int, from end: Int) {
        let connection = connections[index]
        let at = max(
            connection.lastAt[end] + 1,
            now + delay(connection.nodes[end], connection.nodes[1 - end]))
        connection.lastAt[end] = at
        queue.push(.arrived(connection: index, end: 1 - end, bytes: bytes), at: at)
    }

    /// Draws the delay of a frame, in microseconds.
    func delay(_ from: Int, _ to: Int) -> UInt64 {
        if conditions.isFair { return netRandom.between(50...2_000) }
        if conditions.slow[from][to] > 0 { return netRandom.between(20_000...2_500_000) }
        if conditions.narrow[from][to] > 0 { return netRandom.between(5_000...40_000) }
        return netRandom.chance(percent: 10)
            ? netRandom.between(2_000...50_000) : netRandom.between(50...2_000)
    }

    func onArrived(_ index: Int, _ end: Int, _ bytes: [UInt8]) throws(Violation) {
        let connection = connections[index]
        connection.inFlight[1 - end] -= 1
        if connection.isOpen[end], connection.isUp[end], let shell = shell(of: connection, end) {
            trace(
                5, checksum(bytes),
                "n\(connection.nodes[end] + 1) ← \(names[connection.nodes[1 - end]])")
            try receive(bytes, from: connection.nodes[1 - end], at: shell)
        }
        drain(index, from: 1 - end)
    }

    /// Sends waiting frames; once all are sent, offers the shards of dropped frames and repeats a
    /// dropped comparison.
    private func drain(_ index: Int, from end: Int) {
        let connection = connections[index]
        let peer = connection.nodes[1 - end]
        guard connection.isOpen[end], let shell = shell(of: connection, end),
            shell.connections[peer] == index
        else {
            return
        }
        while hasCapacity(connection, from: shell), !shell.queues[peer].frames.isEmpty {
            transmit(shell.queues[peer].frames.removeFirst(), on: index, from: end)
        }
        guard shell.queues[peer].frames.isEmpty else { return }
        let queue = shell.queues[peer]
        shell.queues[peer] = SendQueue()
        for shard in queue.dropped { shell.machines[shard].offer(to: names[peer]) }
        if queue.hasDroppedComparison { shell.links[peer]?.compareNow() }
        if !queue.dropped.isEmpty || queue.hasDroppedComparison
            || shell.machines.contains(where: { $0.replica.served.contains(names[peer]) })
        {
            scheduleTurn(shell)
        }
    }

    /// Ends a cut: delivers the frames that it stalled, or closes the connection.
    func onCutEnded(from: Int, to: Int) {
        guard conditions.cuts[from][to] == 0 else { return }
        for index in connections.indices {
            let connection = connections[index]
            guard connection.isOpen[0] || connection.isOpen[1],
                let end = connection.nodes.firstIndex(of: from),
                connection.nodes[1 - end] == to
            else { continue }
            let stalled = connection.stalled[end]
            connection.stalled[end] = []
            if !connection.isOpen[end] || shell(of: connection, end) == nil {
                push(.closed(connection: index, end: 1 - end), after: delay(from, to))
            } else if netRandom.chance(percent: 30) {
                close(index, by: end)
            } else {
                if !stalled.isEmpty { coverage.count("late-frames") }
                for bytes in stalled { deliver(bytes, on: index, from: end) }
            }
        }
    }
}

extension Connection {
    func end(of node: Int) -> Int { nodes[0] == node ? 0 : 1 }
}

extension Frame {
    /// The kind and the distinguishing fields, for traces.
    var name: String {
        switch self {
        case .push(let shard, let encodedDocuments, _): "push \(shard) of \(encodedDocuments.count)"
        case .confirm(let shard, let vector): "confirm \(shard) \(vector.count)"
        case .check(let shard, let vector): "check \(shard) \(vector.count)"
        case .summary: "summary"
        case .hashes: "hashes"
        case .offer(let offer): "offer \(offer.shard) \(offer.claim.vector.count)"
        case .pull(let shard, let number, let theirs):
            "pull \(shard) #\(number) \(theirs.vector.count)"
        case .batch(let shard, let number, let index, let encodedDocuments):
            "batch \(shard) #\(number) \(index) of \(encodedDocuments.count)"
        case .done(let shard, let number, let batches, let claim):
            "done \(shard) #\(number) \(batches) \(claim.vector.count)"
        case .broken(let shard, let number): "broken \(shard) #\(number)"
        case .seek(let shard): "seek \(shard)"
        case .absent(let shard): "absent \(shard)"
        case .inquiry(let shard, let number): "inquiry \(shard) #\(number)"
        case .report(let shard, let number, let claim):
            "report \(shard) #\(number) \(claim.map { String($0.vector.count) } ?? "absent")"
        case .handover(let shard, let mark, let claim):
            "handover \(shard) #\(mark) \(claim.vector.count)"
        case .accept(let shard, let mark, _): "accept \(shard) #\(mark)"
        }
    }
}
