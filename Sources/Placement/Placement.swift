import Wire

/// The number of members that hold each shard, fixed by the cluster's first node.
public enum Replicas: Hashable, Sendable {
    case count(Int)
    /// Every member.
    case all

    /// The greatest number that can be requested: a cluster has at most a hundred members.
    public static let countMax = 100
    public static let standard = Replicas.count(3)

    func count(of members: Int) -> Int {
        switch self {
        case .count(let count): min(count, members)
        case .all: members
        }
    }
}

/// The assignment of shards to members by rendezvous hashing.
///
/// Each member has a score for each shard, and the members with the highest scores own it. So every
/// node that knows the members knows the owners, a member that leaves hands its shards to many
/// others, and nothing else moves. Source: D. Thaler, C. Ravishankar, "Using name-based mappings to
/// increase hit rates" (1998).
public enum Placement {
    /// Returns all members in the order of their scores for a shard.
    ///
    /// - Parameter members: the members in any order, each once.
    public static func ranking(of shard: ShardID, among members: [NodeName]) -> [NodeName] {
        members.map { (score: score(of: $0, for: shard), name: $0) }
            .sorted { ($0.score, $1.name) > ($1.score, $0.name) }
            .map(\.name)
    }

    /// Returns the members that should hold a shard, highest score first.
    public static func owners(
        of shard: ShardID, among members: [NodeName], replicas: Replicas
    ) -> [NodeName] {
        Array(ranking(of: shard, among: members).prefix(replicas.count(of: members.count)))
    }

    private static func score(of member: NodeName, for shard: ShardID) -> UInt64 {
        checksum(of: member.text, seed: UInt64(shard.number))
    }
}

extension Replicas: WireValue {
    public func encode(into writer: inout ByteWriter) {
        switch self {
        case .count(let count): writer.write(varint: UInt64(count))
        case .all: writer.write(varint: 0)
        }
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        let count = try reader.readVarint()
        guard count <= UInt64(Replicas.countMax) else { throw .invalid("a number of replicas") }
        self = count == 0 ? .all : .count(Int(count))
    }
}

extension Replicas: CustomStringConvertible {
    /// The value of the `--replicas` option.
    public var description: String {
        switch self {
        case .count(let count): String(count)
        case .all: "all"
        }
    }

    /// Parses `all` or a number from 1 to 100; nil for anything else.
    public init?(_ text: String) {
        if text == "all" {
            self = .all
        } else if let count = Int(text), (1...Replicas.countMax).contains(count) {
            self = .count(count)
        } else {
            return nil
        }
    }
}
