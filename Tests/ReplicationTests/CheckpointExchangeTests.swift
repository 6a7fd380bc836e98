import CRDT
import TestKit
import Testing
import Wire

@testable import Replication

/// Nodes that exchange checkpoints over connections that deliver in order.
private struct Mesh {
    static let shards: UInt16 = 100
    var nodes: [NodeName: CheckpointExchange] = [:]
    /// Frames in flight, in order.
    var inFlight: [(from: NodeName, to: NodeName, frame: CheckpointFrame)] = []
    var links: Set<[NodeName]> = []
    var now: UInt64 = 5_000
    var sent = 0

    init(_ names: [NodeName]) { for name in names { nodes[name] = CheckpointExchange() } }

    mutating func connect(_ left: NodeName, _ right: NodeName) {
        links.formUnion([[left, right], [right, left]])
        nodes[left]?.onConnected(right)
        nodes[right]?.onConnected(left)
    }

    mutating func disconnect(_ left: NodeName, _ right: NodeName) {
        links.subtract([[left, right], [right, left]])
        nodes[left]?.onDisconnected(right)
        nodes[right]?.onDisconnected(left)
        inFlight.removeAll { !links.contains([$0.from, $0.to]) }
    }

    /// Makes a tick at every node, and delivers what follows from it.
    mutating func tick(naming vectors: [ShardID: Vector] = [:], by namer: NodeName? = nil) {
        now += 100
        for name in nodes.keys.sorted() {
            let directives = nodes[name]?.onTick(now: now, shards: Mesh.shards) {
                guard name == namer else { return [] }
                return vectors.sorted { $0.key < $1.key }.map {
                    CheckpointExchange.Candidate(
                        $0.key, hash: CheckpointID(of: $0.value).bits, vector: $0.value)
                }
            }
            carryOut(directives ?? [], of: name)
        }
        while !inFlight.isEmpty {
            let (from, to, frame) = inFlight.removeFirst()
            guard let read = try? CheckpointFrame.decode(frame.encoded), read == frame else {
                Issue.record("\(frame)")
                continue
            }
            carryOut(nodes[to]?.receive(read, from: from) ?? [], of: to)
        }
    }

    private mutating func carryOut(_ directives: [CheckpointExchange.Directive], of name: NodeName)
    {
        for directive in directives {
            switch directive {
            case .send(let frame, let to): send(frame, from: name, to: to)
            case .sendToAll(let frame):
                for to in nodes.keys.sorted() { send(frame, from: name, to: to) }
            }
        }
    }

    private mutating func send(_ frame: CheckpointFrame, from: NodeName, to: NodeName) {
        guard links.contains([from, to]) else { return }
        sent += 1
        inFlight.append((from, to, frame))
    }

    func known(by name: NodeName) -> Checkpoints { nodes[name]?.known ?? Checkpoints() }
}

@Suite struct CheckpointExchangeTests {
    private let n1 = NodeName(checked: "n1")
    private let n2 = NodeName(checked: "n2")
    private let n3 = NodeName(checked: "n3")
    private let shard = ShardID(70)

    private func vector(_ seqs: ClosedRange<UInt64>, of replica: UInt64 = 1) -> Vector {
        var vector = Vector()
        vector.insert(SeqSet(seqs), of: RandomID(high: replica << 32, low: 1))
        return vector
    }

    private func mesh() -> Mesh {
        var mesh = Mesh([n1, n2, n3])
        mesh.connect(n1, n2)
        mesh.connect(n1, n3)
        mesh.connect(n2, n3)
        for _ in 0..<3 { mesh.tick() }
        return mesh
    }

    @Test func `what the first owner names all know, and nothing is said while nothing changes`() {
        var mesh = mesh()
        for end in 1...5 as ClosedRange<UInt64> {
            for _ in 0..<10 { mesh.tick(naming: [shard: vector(1...end)], by: n1) }
        }
        for name in [n1, n2, n3] {
            let history = mesh.known(by: name)[shard]
            #expect(history == mesh.known(by: n1)[shard])
            for end in 1...5 as ClosedRange<UInt64> {
                #expect(history.contains(CheckpointID(of: vector(1...end))))
            }
        }
        let before = mesh.sent
        for _ in 0..<50 { mesh.tick(naming: [shard: vector(1...5)], by: n1) }
        #expect(mesh.sent == before)
    }

    @Test func `what was stored is known again, each change once, and the shards in turn`() throws {
        var exchange = CheckpointExchange()
        let shards = (1...3).map { ShardID($0) }
        let wide = (1...300).map { vector(1...1, of: $0) }.reduce(Vector()) { $0.union($1) }
        for shard in shards {
            _ = exchange.receive(.checkpoint(shard, beyond: nil, wide), from: n2)
        }
        var read = CheckpointExchange()
        var order: [ShardID] = []
        for second in 1...40 as ClosedRange<UInt64> {
            let taken = exchange.takeUnstored(now: second * 1_000)
            #expect(exchange.takeUnstored(now: second * 1_000 + 999).isEmpty)
            for (shard, bytes) in taken {
                #expect(bytes.count <= CheckpointExchange.storedBytesMax)
                try read.load(bytes, of: shard)
                order.append(shard)
            }
            // The first shard changes all the time, and keeps no other from the disk.
            guard second < 20 else { continue }
            let more = wide.union(vector(1...second, of: 900))
            _ = exchange.receive(.checkpoint(shards[0], beyond: nil, more), from: n2)
        }
        #expect(order.prefix(3) == shards[...])
        #expect(read.known == exchange.known)
        #expect(throws: WireError.self) { try read.load([1, 2, 3], of: shards[0]) }
    }

    @Test func `a vector is named once a second at most`() {
        var mesh = mesh()
        let before = mesh.sent
        for end in 1...50 as ClosedRange<UInt64> {
            mesh.tick(naming: [shard: vector(1...end)], by: n1)
        }
        // At most six frames to each of two nodes in five seconds.
        #expect(mesh.sent - before <= 2 * 6)
    }

    @Test func `two sides of a cut learn each other's checkpoints when they meet`() {
        var mesh = mesh()
        mesh.tick(naming: [shard: vector(1...4)], by: n1)
        for _ in 0..<10 { mesh.tick(naming: [shard: vector(1...4)], by: n1) }
        mesh.disconnect(n1, n2)
        mesh.disconnect(n1, n3)
        let left = vector(1...4).union(vector(1...2, of: 2))
        let right = vector(1...4).union(vector(1...3, of: 3))
        for _ in 0..<10 { mesh.tick(naming: [shard: left], by: n1) }
        for _ in 0..<10 { mesh.tick(naming: [shard: right], by: n2) }
        #expect(!mesh.known(by: n3)[shard].contains(CheckpointID(of: left)))
        mesh.connect(n1, n2)
        mesh.connect(n1, n3)
        for _ in 0..<3 { mesh.tick() }
        for name in [n1, n2, n3] {
            for vector in [left, right] {
                #expect(
                    mesh.known(by: name)[shard].vector(named: CheckpointID(of: vector)) == vector)
            }
        }
        // The next checkpoint covers both.
        for _ in 0..<10 { mesh.tick(naming: [shard: left.union(right)], by: n1) }
        #expect(mesh.known(by: n3)[shard].newestVector == left.union(right))
    }

    @Test func `a node that starts anew learns the checkpoints of all shards`() {
        var mesh = mesh()
        var vectors: [ShardID: Vector] = [:]
        for number in 0..<Mesh.shards { vectors[ShardID(number)] = vector(1...9, of: 7) }
        for _ in 0..<20 { mesh.tick(naming: vectors, by: n2) }
        mesh.disconnect(n3, n1)
        mesh.disconnect(n3, n2)
        mesh.nodes[n3] = CheckpointExchange()
        mesh.connect(n3, n1)
        for _ in 0..<3 { mesh.tick() }
        #expect(mesh.known(by: n3) == mesh.known(by: n2))
    }

    @Test func `the bytes are those of earlier builds`() throws {
        let base = CheckpointID(of: vector(1...3))
        var history = CheckpointHistory()
        history.add(vector(1...3))
        let frames: [CheckpointFrame] = [
            .checkpoint(shard, beyond: nil, vector(1...3)),
            .checkpoint(shard, beyond: base, vector(4...5)), .compare(shard, newest: nil),
            .compare(shard, newest: base), .history(shard, history),
        ]
        #expect(try GoldenBytes("checkpoint-frame", of: frames.map(\.encoded)).difference() == nil)
    }
}
