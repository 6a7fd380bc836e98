import Wire

/// A node as the other nodes know it.
public struct Member: Hashable, Sendable {
    public let name: NodeName
    /// The id of the process, which no other process under this name ever has.
    public let process: RandomID
    /// The address for the other nodes, as host:port.
    public let gossip: String
    /// The address for lines of clients and operators.
    public let admin: String
    /// The incarnation, raised only by the member itself: at each start, and to refute what others
    /// say of it.
    public internal(set) var incarnation: UInt64
    /// Whether the member is handing over its shards in order to leave.
    public internal(set) var isLeaving = false

    /// The greatest length of an address in bytes: the longest host name and a port fit.
    public static let addressBytesMax = 256
    /// The greatest incarnation that is accepted.
    ///
    /// Incarnations start as milliseconds since 1970 and grow one by one, so none ever comes near
    /// it.
    public static let incarnationMax: UInt64 = 1 << 62

    public init(
        name: NodeName, process: RandomID, gossip: String, admin: String, incarnation: UInt64
    ) {
        self.name = name
        self.process = process
        self.gossip = gossip
        self.admin = admin
        self.incarnation = incarnation
    }
}

extension Member: WireValue {
    public func encode(into writer: inout ByteWriter) {
        writer.write(name)
        writer.write(process)
        writer.write(gossip)
        writer.write(admin)
        writer.write(varint: incarnation)
        writer.write(isLeaving)
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        name = try reader.readName()
        process = try reader.readID()
        gossip = try Member.readAddress(from: &reader)
        admin = try Member.readAddress(from: &reader)
        incarnation = try reader.readVarint()
        guard incarnation <= Member.incarnationMax else { throw .invalid("an incarnation") }
        isLeaving = try reader.readFlag()
    }

    /// Reads an address of printable ASCII without spaces, since it appears in logs and on
    /// terminals.
    private static func readAddress(from reader: inout ByteReader) throws(WireError) -> String {
        let address = try reader.readText(limit: addressBytesMax)
        guard address.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw .invalid("an address")
        }
        return address
    }
}

/// The state of a member; at equal incarnations the greater state wins.
///
/// `alive(N) < suspect(N) < dead(N) < evicted(N) < left(N) < alive(N+1)`: the order of A. Das et
/// al., "SWIM" (2002), section 4.2, with two more ways of being gone, and without its "dead
/// overrides all", so that a member that was considered dead returns by raising its incarnation.
public enum MemberState: UInt8, CaseIterable, Comparable, Sendable, CustomStringConvertible {
    case alive = 1
    case suspect
    /// Not heard from; its shards wait for its return.
    case dead
    /// Dead for so long that a majority took it out of the ring; it is still dialled, and counts as
    /// a holder of shards until it leaves or is forgotten.
    case evicted
    /// Gone by its own `LEAVE`, or by an operator's `FORGET`.
    case left

    public static func < (left: MemberState, right: MemberState) -> Bool {
        left.rawValue < right.rawValue
    }

    public var description: String {
        switch self {
        case .alive: "alive"
        case .suspect: "suspect"
        case .dead: "dead"
        case .evicted: "evicted"
        case .left: "left"
        }
    }

    /// Whether a member in this state owns shards.
    public var isInRing: Bool { self <= .dead }
}

/// A row of a member table.
public struct MemberEntry: Hashable, Sendable {
    public let member: Member
    public let state: MemberState

    public init(member: Member, state: MemberState) {
        self.member = member
        self.state = state
    }

    /// Whether this entry replaces another one of the same name.
    ///
    /// Process and addresses decide only where two processes under one name chose the same
    /// incarnation; any order that is the same everywhere will do.
    public func supersedes(_ other: MemberEntry) -> Bool {
        if member.incarnation != other.member.incarnation {
            return member.incarnation > other.member.incarnation
        }
        if state != other.state { return state > other.state }
        if member.process != other.member.process { return member.process > other.member.process }
        if !haveSameBytes(member.gossip, other.member.gossip) {
            return precedesInBytes(other.member.gossip, member.gossip)
        }
        return precedesInBytes(other.member.admin, member.admin)
    }
}

extension MemberEntry: WireValue {
    public func encode(into writer: inout ByteWriter) {
        member.encode(into: &writer)
        writer.write(state.rawValue)
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        member = try Member(from: &reader)
        guard let state = MemberState(rawValue: try reader.readByte()) else {
            throw .invalid("a member's state")
        }
        self.state = state
    }
}
