import CRDT
import Wire

/// The signing keys and revocations in the form in which `KEYS` lists them; earlier versions stored
/// this form in one document.
///
/// The size of the form is bounded. Both lists keep the latest entries, so a merge is a join; a
/// revocation that does not fit raises `floor`, which revokes more tokens than necessary and never
/// fewer.
public struct Signing: Hashable, Sendable {
    public struct Key: Hashable, Sendable {
        public let id: SigningKeyID
        public let secret: SecretDigest
        public let created: Stamp

        public init(id: SigningKeyID, secret: SecretDigest, created: Stamp) {
            self.id = id
            self.secret = secret
            self.created = created
        }
    }

    public struct Revocation: Hashable, Sendable {
        /// The name of a user or of a sign-in.
        public let name: UserID
        /// The access tokens of `name` that were issued no later than this time are refused.
        public let time: HybridTimestamp
    }

    /// The most keys that are kept; a further key replaces the oldest one.
    public static let keysMax = 16
    /// The most revocations that are kept; a further one replaces the earliest one.
    public static let revocationsMax = 2_048

    /// The signing keys, ascending by the stamp of their creation.
    public private(set) var keys: [Key]
    /// The revocations, ascending by name, one for each name; all are later than `floor`.
    public private(set) var revocations: [Revocation]
    /// The tokens of all users that were issued no later than this time are refused.
    public private(set) var floor: HybridTimestamp

    public init() {
        keys = []
        revocations = []
        floor = .zero
    }

    /// Creates the form in which a node sends its table to another: the table's keys and its latest
    /// revocations, at most `revocationsMax`.
    public init(_ table: SigningTable) {
        self.init()
        for key in table.keys { add(key) }
        let latest = table.revoked.sorted { ($0.made, $0.name) > ($1.made, $1.name) }
            .prefix(Signing.revocationsMax)
        mergeRevocations(
            latest.map { Revocation(name: $0.name, time: $0.through) }.sorted { $0.name < $1.name })
    }

    var greatestTime: HybridTimestamp {
        revocations.reduce(max(floor, keys.last?.created.time ?? .zero)) { max($0, $1.time) }
    }

    func revocation(of name: UserID) -> Revocation? { revocations.first { $0.name == name } }

    mutating func add(_ key: Key) { mergeKeys([key]) }

    mutating func revoke(_ name: UserID, at time: HybridTimestamp) {
        mergeRevocations([Revocation(name: name, time: time)])
    }

    mutating func merge(_ other: Signing) {
        mergeKeys(other.keys)
        floor = max(floor, other.floor)
        mergeRevocations(other.revocations)
    }

    private mutating func mergeKeys(_ more: [Key]) {
        let all = mergedAscending(keys, more, by: \.created) { mine, _ in mine }
        keys = Array(all.suffix(Signing.keysMax))
    }

    private mutating func mergeRevocations(_ more: [Revocation]) {
        var all = mergedAscending(revocations, more, by: \.name) { $0.time < $1.time ? $1 : $0 }
        let surplus = all.count - Signing.revocationsMax
        if surplus > 0 { floor = max(floor, all.map(\.time).sorted()[surplus - 1]) }
        all.removeAll { $0.time <= floor }
        revocations = all
    }

    /// Whether the keys and revocations are in the normal form that a merge produces.
    var isNormal: Bool {
        keys.count <= Signing.keysMax && revocations.count <= Signing.revocationsMax
            && zip(keys, keys.dropFirst()).allSatisfy { $0.created < $1.created }
            && zip(revocations, revocations.dropFirst()).allSatisfy { $0.name < $1.name }
            && revocations.allSatisfy { $0.time > floor }
    }
}

extension Signing {
    private enum FieldNumber {
        static let keys: UInt64 = 1
        static let revocations: UInt64 = 2
        static let floor: UInt64 = 3
    }

    func write(to fields: inout some FieldSink & ~Copyable) {
        fields.set(FieldNumber.keys, toList: keys)
        fields.set(FieldNumber.revocations, toList: revocations)
        if floor != .zero { fields.set(FieldNumber.floor, to: floor) }
    }

    init(from fields: inout Fields) throws(WireError) {
        keys = try fields.take(FieldNumber.keys, orEmpty: [], "keys")
        revocations = try fields.take(FieldNumber.revocations, orEmpty: [], "revocations")
        floor = try fields.take(FieldNumber.floor, orEmpty: .zero, "a time of revocation")
        guard isNormal else { throw .invalid("keys as a merge leaves them") }
    }
}

extension Signing.Key: WireValue {
    public func encode(into writer: inout ByteWriter) {
        writer.write(id)
        writer.write(secret)
        created.encode(into: &writer)
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        id = try reader.readName()
        secret = try reader.readName()
        created = try Stamp(from: &reader)
    }
}

extension Signing.Revocation: WireValue {
    public func encode(into writer: inout ByteWriter) {
        writer.write(name)
        time.encode(into: &writer)
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        name = try reader.readName()
        time = try HybridTimestamp(from: &reader)
    }
}

/// The coding of the keys and revocations for a node that requests them.
extension Signing: WireValue {
    public func encode(into writer: inout ByteWriter) {
        var fields = Fields()
        write(to: &fields)
        fields.encode(into: &writer)
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        var fields = try Fields(from: &reader)
        try self.init(from: &fields)
        guard fields.isEmpty else { throw .invalid("the fields of keys") }
    }
}
