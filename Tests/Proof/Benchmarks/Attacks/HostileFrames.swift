import Membership
import Node
import Placement
import Wire

/// The bytes that an attacker writes to the port for nodes.
enum HostileFrames {
    /// Returns a complete frame, with its length and a right checksum.
    static func envelope(_ payload: [UInt8]) -> [UInt8] {
        var writer = ByteWriter()
        writer.writeEnvelope { $0.write(raw: payload) }
        return writer.bytes
    }

    /// Returns a head that announces a number of bytes, without any of them.
    static func head(announcing count: UInt32) -> [UInt8] {
        var writer = ByteWriter()
        writer.write(fixed: count)
        writer.write(fixed: UInt64(0))
        return writer.bytes
    }

    /// Returns the first frame of a node of some cluster.
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
