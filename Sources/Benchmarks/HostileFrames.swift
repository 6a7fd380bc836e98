import Membership
import Node
import Placement
import Wire

/// What an attacker writes to the port for nodes.
enum HostileFrames {
    /// A whole frame with its length and its right checksum around it.
    static func envelope(_ payload: [UInt8]) -> [UInt8] {
        var writer = ByteWriter()
        writer.writeEnvelope { $0.write(raw: payload) }
        return writer.bytes
    }

    /// A head that announces so many bytes, and none of them.
    static func head(announcing count: UInt32) -> [UInt8] {
        var writer = ByteWriter()
        writer.write(fixed: count)
        writer.write(fixed: UInt64(0))
        return writer.bytes
    }

    /// What a node of some cluster says first.
    static func hello(
        from name: String, at address: String, process: UInt64, cluster: ClusterSettings?
    ) -> PeerFrame {
        .hello(
            Hello(
                process: RandomID(high: process, low: process),
                member: Member(
                    name: NodeName(checked: name), process: RandomID(high: process, low: process),
                    gossip: address, admin: address, incarnation: 1),
                cluster: cluster, members: MemberTable()))
    }

    static func cluster(_ number: UInt64) -> ClusterSettings {
        ClusterSettings(
            id: RandomID(high: number, low: number), name: ClusterName(checked: "strangers"),
            shards: 64, replicas: .standard)
    }
}
