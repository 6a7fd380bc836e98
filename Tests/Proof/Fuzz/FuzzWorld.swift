import CRDT
import Chat
import Membership
import Node
import Placement
import Replication
import Wire

/// One node with a single peer, which sends the fuzzer's bytes.
final class FuzzWorld {
    private static let memberName = NodeName(checked: "n2")
    private static let address = "127.0.0.1:9"
    private static let process = RandomID(high: 7, low: 7)
    private static let shards: UInt16 = 2

    private let host = FuzzHost()
    private let store = FuzzStore()
    private let channel = FuzzChannel()
    private let node: Node

    init() {
        node = Node(
            NodeOptions(
                name: NodeName(checked: "n1"), gossip: "127.0.0.1:1", admin: "127.0.0.1:2",
                join: [], cluster: nil, shards: FuzzWorld.shards, replicas: .standard,
                ackLevel: .majority, editWindowMilliseconds: 900_000),
            ports: NodePorts(
                executor: FuzzExecutor(), store: store, entropy: host, clock: host, host: host))
    }

    var holdsShards: Bool {
        node.assumeIsolated { $0.shards.count } == Int(FuzzWorld.shards) || host.hasEnded
    }

    func start() {
        node.assumeIsolated { $0.start(settings: [:], headers: [:]) }
        settle()
        node.assumeIsolated { [channel] in $0.onChannel(channel, dialed: nil) }
    }

    /// Says hello twice: as a newcomer, which receives the cluster's settings, and as a member.
    func link() {
        send(hello(nil))
        guard let settings = channel.cluster else {
            preconditionFailure("a newcomer is told of the cluster")
        }
        send(hello(settings))
        settle()
    }

    private func hello(_ cluster: ClusterSettings?) -> PeerFrame {
        let member = Member(
            name: FuzzWorld.memberName, process: FuzzWorld.process, gossip: FuzzWorld.address,
            admin: FuzzWorld.address, incarnation: 1)
        return .hello(
            Hello(
                process: FuzzWorld.process, member: member, cluster: cluster,
                members: MemberTable()))
    }

    private func send(_ frame: PeerFrame) { receive(frame.encoded) }

    func receive(_ payload: [UInt8]) {
        var writer = ByteWriter()
        writer.writeEnvelope { $0.write(raw: payload) }
        writer.bytes.withUnsafeBytes { bytes in
            nonisolated(unsafe) let bytes = bytes
            node.assumeIsolated { [channel] in $0.onBytes(bytes, on: channel.id) }
        }
        turn()
    }

    /// Runs some turns and ticks without input.
    func settle() {
        for _ in 0..<4 {
            host.pass(milliseconds: Node.tickMilliseconds)
            node.assumeIsolated { $0.onTick() }
            turn()
        }
    }

    private func turn() {
        node.assumeIsolated { $0.onTurnEnd() }
        for ticket in store.takeCommitted() {
            node.assumeIsolated { $0.onCommitted(ticket, failure: nil) }
        }
        node.assumeIsolated { $0.onTurnEnd() }
    }
}
