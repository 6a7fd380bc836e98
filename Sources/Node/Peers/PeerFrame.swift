import Chat
import Membership
import Placement
import Replication
import Wire

/// The settings that the first node of a cluster has fixed for all of its nodes.
package struct ClusterSettings: Hashable, Sendable {
    package let id: ClusterID
    package let name: ClusterName
    /// The number of shards of the cluster.
    package let shards: UInt16
    /// The number of owners of each shard.
    package let replicas: Replicas

    package init(id: ClusterID, name: ClusterName, shards: UInt16, replicas: Replicas) {
        self.id = id
        self.name = name
        self.shards = shards
        self.replicas = replicas
    }
}

extension ClusterSettings {
    /// The error message if the requested cluster has too many shards.
    var tooManyShards: String {
        "--shards \(shards): a cluster is founded with at most \(ClusterSettings.shardsMax)"
    }
}

extension ClusterSettings: WireValue {
    /// The maximum number of shards of a new cluster: a token has space for the names of the
    /// vectors of all 256 shards.
    package static let shardsMax: UInt16 = 256
    /// The maximum number of shards of a cluster that an earlier version has founded.
    package static let shardsReadMax: UInt16 = 4_096

    package func encode(into writer: inout ByteWriter) {
        writer.write(id)
        writer.write(name)
        writer.write(varint: UInt64(shards))
        replicas.encode(into: &writer)
    }

    package init(from reader: inout ByteReader) throws(WireError) {
        id = try reader.readID()
        name = try reader.readName()
        let count = try reader.readVarint()
        guard (1...UInt64(ClusterSettings.shardsReadMax)).contains(count) else {
            throw .invalid("a number of shards")
        }
        shards = UInt16(count)
        replicas = try Replicas(from: &reader)
    }
}

/// The versions that a node understands, as reported in its hello.
///
/// Two nodes use the newest wire format that both know; its version determines the kinds of frames
/// that may be sent. Between nodes with a common version, nothing ends a connection: an unknown
/// kind of frame is skipped, an unknown request is answered as unsupported, and bytes after the
/// known values are ignored. A node writes documents of a new version, or sends frames of a new
/// version, only once every member has reported that it knows the version. If such a document
/// reaches an earlier version all the same, that version keeps the document unchanged
/// (`LaterState`).
package struct PeerVersions: Hashable, Sendable {
    /// The versions of the wire format that the node understands.
    package let wire: ClosedRange<UInt8>
    /// The latest version of documents that the node can read completely.
    package let document: UInt8

    package static let current = PeerVersions(
        wire: 1...Frame.wireVersion, document: Document.version)

    package init(wire: ClosedRange<UInt8>, document: UInt8) {
        self.wire = wire
        self.document = document
    }

    /// Returns the newest version of the wire format that both nodes know; nil if there is none.
    func common(with other: PeerVersions) -> UInt8? {
        let latest = min(wire.upperBound, other.wire.upperBound)
        return latest >= max(wire.lowerBound, other.wire.lowerBound) ? latest : nil
    }
}

extension PeerVersions: WireValue {
    package func encode(into writer: inout ByteWriter) {
        writer.write(wire.lowerBound)
        writer.write(wire.upperBound)
        writer.write(document)
    }

    package init(from reader: inout ByteReader) throws(WireError) {
        let (oldest, latest) = (try reader.readByte(), try reader.readByte())
        guard oldest > 0, oldest <= latest else { throw .invalid("versions from the oldest on") }
        wire = oldest...latest
        document = try reader.readByte()
    }
}

/// The first frame on every connection between nodes.
///
/// The format of the hello is the same in all versions, except for values appended later.
package struct Hello: Hashable, Sendable {
    /// The id of the process, which no other process ever has.
    package let process: RandomID
    package let member: Member
    /// The sender's cluster; nil for a node with an empty data folder, which waits for a cluster.
    package let cluster: ClusterSettings?
    package let members: MemberTable
    package let versions: PeerVersions

    /// The maximum size of a hello: a full table of entries of at most 640 bytes, and a cluster.
    static let bytesMax = 192 << 10

    package init(
        process: RandomID, member: Member, cluster: ClusterSettings?, members: MemberTable,
        versions: PeerVersions = .current
    ) {
        self.versions = versions
        self.process = process
        self.member = member
        self.cluster = cluster
        self.members = members
    }
}

/// The reasons for which a node rejects a connection with another node.
package enum Rejection: UInt8, Hashable, Sendable {
    /// A living member has the same name.
    case nameTaken = 1
    case otherCluster = 2
    /// Neither of the two nodes is in a cluster.
    case noCluster = 3
    /// The two nodes are connected already.
    case connected = 4
    /// The sender's name is the receiver's own, because the node has dialled itself.
    case oneself = 5
    /// The two nodes have no version of the wire format in common.
    case otherVersion = 6
}

/// A message between two connected nodes.
package enum PeerFrame: Hashable, Sendable {
    case hello(Hello)
    case reject(Rejection)
    /// The states of members, and the sender's wall clock.
    case gossip(Gossip, wallMilliseconds: UInt64)
    case replication(Frame)
    /// A request that the receiver is to answer.
    case request(PeerRequest)
    case response(PeerResponse)
    /// The sender's monotonic clock, in milliseconds; the receiver computes the deadlines of its
    /// requests by this clock.
    case clock(UInt64)
    /// A frame about watchers and feeds.
    case watch(WatchFrame)
    /// A notice that a user is typing, or has stopped typing.
    case typing(TypingFrame)
    case checkpoint(CheckpointFrame)
    /// The heartbeat, sent twice a second.
    case pulse(Pulse)
    /// A report that the sender lacks the base vector of a shard's vector from the receiver.
    case unheard(ShardID)
    /// The signing keys of access tokens, and the revocations.
    case signing(SigningFrame)
    /// The addresses at which browsers reach the sender's pages.
    case pages(PageAddresses)

    /// The version of the frame head; it is the same in all versions of the wire format that only
    /// add kinds of frames.
    package static let version: UInt8 = 1
}

extension PeerFrame: VectorCarrier {
    package mutating func eachVector(_ body: (ShardID, inout SaidVector) -> Void) {
        switch self {
        case .replication(var frame):
            frame.eachVector(body)
            self = .replication(frame)
        case .request(var ask):
            ask.eachVector(body)
            self = .request(ask)
        case .response(var told):
            told.eachVector(body)
            self = .response(told)
        case .watch(var frame):
            frame.eachVector(body)
            self = .watch(frame)
        default: break
        }
    }
}

extension PeerFrame: WireValue {
    enum Kind {
        static let hello: UInt8 = 1
        static let reject: UInt8 = 2
        static let gossip: UInt8 = 3
        static let replication: UInt8 = 4
        static let ask: UInt8 = 5
        static let told: UInt8 = 6
        static let clock: UInt8 = 7
        static let watch: UInt8 = 8
        static let typing: UInt8 = 9
        static let checkpoint: UInt8 = 10
        static let pulse: UInt8 = 11
        static let unheard: UInt8 = 12
        static let signing: UInt8 = 13
        static let pages: UInt8 = 14
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
        case .gossip(let gossip, let wall):
            writer.write(Kind.gossip)
            writer.write(varint: wall)
            gossip.encode(into: &writer)
        case .replication(let frame):
            writer.write(Kind.replication)
            frame.encode(into: &writer)
        case .request(let ask):
            writer.write(Kind.ask)
            ask.encode(into: &writer)
        case .response(let told):
            writer.write(Kind.told)
            told.encode(into: &writer)
        case .clock(let milliseconds):
            writer.write(Kind.clock)
            writer.write(varint: milliseconds)
        case .watch(let frame):
            writer.write(Kind.watch)
            frame.encode(into: &writer)
        case .typing(let frame):
            writer.write(Kind.typing)
            frame.encode(into: &writer)
        case .checkpoint(let frame):
            writer.write(Kind.checkpoint)
            frame.encode(into: &writer)
        case .pulse(let pulse):
            writer.write(Kind.pulse)
            pulse.encode(into: &writer)
        case .unheard(let shard):
            writer.write(Kind.unheard)
            writer.write(shard)
        case .signing(let frame):
            writer.write(Kind.signing)
            frame.encode(into: &writer)
        case .pages(let said):
            writer.write(Kind.pages)
            said.encode(into: &writer)
        }
    }

    /// Reads a frame from a member.
    ///
    /// Bytes that a later version appends to the known values are ignored.
    ///
    /// - Throws: `unknown` for a kind of frame of a later version; `tooLong` for a frame that is
    ///   longer than its kind allows.
    static func read(_ payload: ArraySlice<UInt8>) throws(WireError) -> PeerFrame {
        var reader = ByteReader(payload)
        let frame = try PeerFrame(from: &reader)
        guard payload.count > Envelope.plainBytesMax, !frame.bringsOneDocument else { return frame }
        throw .tooLong(count: UInt64(payload.count), limit: Envelope.plainBytesMax)
    }

    /// Whether a frame may be as long as the longest document.
    private var bringsOneDocument: Bool {
        switch self {
        case .replication(.push(_, let encodedDocuments, _)): encodedDocuments.count == 1
        case .replication(.batch(_, _, _, let encodedDocuments)): encodedDocuments.count == 1
        default: false
        }
    }

    package init(from reader: inout ByteReader) throws(WireError) {
        let version = try reader.readByte()
        guard version == PeerFrame.version else { throw .unknown }
        let isLong = reader.remaining > Envelope.plainBytesMax
        let kind = try reader.readByte()
        guard !isLong || kind == Kind.replication else {
            throw .tooLong(count: UInt64(reader.remaining), limit: Envelope.plainBytesMax)
        }
        switch kind {
        case Kind.hello:
            self = .hello(try Hello(from: &reader))
        case Kind.reject:
            guard let reason = Rejection(rawValue: try reader.readByte()) else { throw .unknown }
            self = .reject(reason)
        case Kind.gossip:
            let wall = try reader.readVarint()
            self = .gossip(try Gossip(from: &reader), wallMilliseconds: wall)
        case Kind.replication: self = .replication(try Frame(from: &reader))
        case Kind.ask: self = .request(try PeerRequest(from: &reader))
        case Kind.told: self = .response(try PeerResponse(from: &reader))
        case Kind.clock: self = .clock(try reader.readVarint())
        case Kind.watch: self = .watch(try WatchFrame(from: &reader))
        case Kind.typing: self = .typing(try TypingFrame(from: &reader))
        case Kind.checkpoint: self = .checkpoint(try CheckpointFrame(from: &reader))
        case Kind.pulse: self = .pulse(try Pulse(from: &reader))
        case Kind.unheard: self = .unheard(try reader.readShard())
        case Kind.signing: self = .signing(try SigningFrame(from: &reader))
        case Kind.pages: self = .pages(try PageAddresses(from: &reader))
        default: throw .unknown
        }
    }
}

extension Hello: WireValue {
    package func encode(into writer: inout ByteWriter) {
        writer.write(process)
        member.encode(into: &writer)
        cluster.encode(into: &writer)
        members.encode(into: &writer)
        versions.encode(into: &writer)
    }

    package init(from reader: inout ByteReader) throws(WireError) {
        process = try reader.readID()
        member = try Member(from: &reader)
        cluster = try Optional(from: &reader)
        members = try MemberTable(from: &reader)
        versions = try PeerVersions(from: &reader)
    }
}
