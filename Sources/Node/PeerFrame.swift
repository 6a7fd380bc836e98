import Replication
import Wire

/// What the first node of a cluster fixed for all of them.
package struct ClusterSettings: Hashable, Sendable {
    package let id: ClusterID
    package let name: ClusterName
    /// How many shards there are.
    package let shards: UInt16

    package init(id: ClusterID, name: ClusterName, shards: UInt16) {
        self.id = id
        self.name = name
        self.shards = shards
    }
}

extension ClusterSettings: WireValue {
    /// The most shards of a cluster.
    package static let shardsMax: UInt16 = 4_096

    package func encode(into writer: inout ByteWriter) {
        writer.write(id)
        writer.write(name)
        writer.write(varint: UInt64(shards))
    }

    package init(from reader: inout ByteReader) throws(WireError) {
        id = try reader.readID()
        name = try reader.readName()
        let count = try reader.readVarint()
        guard (1...UInt64(ClusterSettings.shardsMax)).contains(count) else {
            throw .invalid("a number of shards")
        }
        shards = UInt16(count)
    }
}

/// What a node says first on every connection to another.
package struct Hello: Hashable, Sendable {
    /// This process, and no other that ever ran under the name.
    package let process: RandomID
    package let member: Member
    /// Nil for a node with an empty folder, which waits to be told.
    package let cluster: ClusterSettings?
    package let members: MemberTable

    /// The most bytes of a hello: a hundred and one members of at most 600 bytes, and a cluster.
    static let bytesMax = 64 << 10
}

/// Why a node does not talk to another.
package enum Rejection: UInt8, Hashable, Sendable {
    /// A living member has the name.
    case nameTaken = 1
    case otherCluster = 2
    /// Neither of the two is in a cluster.
    case noCluster = 3
    /// There is a connection between the two already.
    case connected = 4
    /// The name is the receiver's own.
    case oneself = 5
}

/// What travels on a connection between two nodes.
package enum PeerFrame: Hashable, Sendable {
    case hello(Hello)
    case reject(Rejection)
    case members(MemberTable)
    /// To be answered at once with the same number.
    case ping(UInt64)
    case pong(UInt64)
    case replication(Frame)

    /// The version of everything that travels between nodes.
    package static let version: UInt8 = 1
}

extension PeerFrame: WireValue {
    private enum Kind {
        static let hello: UInt8 = 1
        static let reject: UInt8 = 2
        static let members: UInt8 = 3
        static let ping: UInt8 = 4
        static let pong: UInt8 = 5
        static let replication: UInt8 = 6
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(PeerFrame.version)
        switch self {
        case .hello(let hello):
            writer.write(Kind.hello)
            hello.encode(into: &writer)
        case .reject(let reason):
            writer.write(Kind.reject)
            writer.write(reason.rawValue)
        case .members(let table):
            writer.write(Kind.members)
            table.encode(into: &writer)
        case .ping(let number):
            writer.write(Kind.ping)
            writer.write(varint: number)
        case .pong(let number):
            writer.write(Kind.pong)
            writer.write(varint: number)
        case .replication(let frame):
            writer.write(Kind.replication)
            frame.encode(into: &writer)
        }
    }

    package init(from reader: inout ByteReader) throws(WireError) {
        let version = try reader.readByte()
        guard version == PeerFrame.version else { throw .version(version) }
        switch try reader.readByte() {
        case Kind.hello:
            self = .hello(try Hello(from: &reader))
        case Kind.reject:
            guard let reason = Rejection(rawValue: try reader.readByte()) else {
                throw .invalid("a reason")
            }
            self = .reject(reason)
        case Kind.members: self = .members(try MemberTable(from: &reader))
        case Kind.ping: self = .ping(try reader.readVarint())
        case Kind.pong: self = .pong(try reader.readVarint())
        case Kind.replication: self = .replication(try Frame(from: &reader))
        default: throw .invalid("a frame of a known kind")
        }
    }
}

extension Hello: WireValue {
    package func encode(into writer: inout ByteWriter) {
        writer.write(process)
        member.encode(into: &writer)
        writer.write(cluster != nil)
        cluster?.encode(into: &writer)
        members.encode(into: &writer)
    }

    package init(from reader: inout ByteReader) throws(WireError) {
        process = try reader.readID()
        member = try Member(from: &reader)
        cluster = try reader.readFlag() ? try ClusterSettings(from: &reader) : nil
        members = try MemberTable(from: &reader)
    }
}
