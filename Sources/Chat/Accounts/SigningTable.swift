import CRDT
import Wire

/// The keys with which the cluster signs access tokens, and the users and sign-ins whose tokens are
/// revoked, as one node has them.
///
/// Every node stores all entries. A merge is a union; a revocation is removed once every token that
/// it revokes has expired.
public struct SigningTable: Hashable, Sendable {
    public struct Revocation: Hashable, Sendable {
        /// A user, or a sign-in.
        public let name: UserID
        /// Tokens of sign-ins that began no later are refused.
        public let through: HybridTimestamp
        /// When it was last made, in milliseconds since 1970: no such token is issued later.
        public let made: UInt64

        public init(name: UserID, through: HybridTimestamp, made: UInt64) {
            self.name = name
            self.through = through
            self.made = made
        }
    }

    /// The most keys that are kept; one more takes the place of the oldest.
    public static let keysMax = Signing.keysMax
    /// The most revocations that are kept: more than nodes can check passwords in that time.
    public static let revocationsMax = 65_536
    /// How long a revocation is kept, in milliseconds: the ten minutes of an access token, and what
    /// the clocks of two nodes may differ by.
    public static let lifetimeMilliseconds: UInt64 = 620_000
    /// The time within which a revocation that is made again is no news, in milliseconds.
    static let repeatMilliseconds: UInt64 = 10_000
    /// The `through` of an action that deletes the account of the user when it is executed.
    public static let deletionNow = HybridTimestamp(milliseconds: .max)
    /// The number of parts in which the revocations are stored.
    public static let partsCount = 64

    /// Ascending by creation.
    public private(set) var keys: [Signing.Key] = []
    private var revocations: [UserID: Revocation] = [:]

    public init() {}

    public var isFull: Bool { revocations.count >= SigningTable.revocationsMax }

    public func revocation(of name: UserID) -> Revocation? { revocations[name] }

    /// Returns up to when the sign-ins of a user are revoked whose account is deleted.
    ///
    /// It is the last timestamp of a millisecond, which no clock gives before 65,535 others of that
    /// millisecond: so it says that the account is deleted, to nodes of all versions. It is no
    /// earlier than what is revoked already, by a clock that is ahead: the later one counts.
    ///
    /// - Parameter now: milliseconds since 1970.
    public func deletion(of user: UserID, now: UInt64) -> HybridTimestamp {
        let revoked = revocations[user]?.through.milliseconds ?? 0
        return HybridTimestamp(
            bits: HybridTimestamp(milliseconds: max(now, revoked)).bits | 0xFFFF)
    }

    /// The time at which the account of a user was deleted; nil where none was lately, or where
    /// other sign-ins of the user were revoked since.
    public func deletion(of user: UserID) -> HybridTimestamp? {
        revocations[user].map(\.through).flatMap { $0.bits & 0xFFFF == 0xFFFF ? $0 : nil }
    }

    /// The revocations, ascending by name.
    public var revoked: [Revocation] { revocations.values.sorted { $0.name < $1.name } }

    /// - Returns: whether the key is new here.
    public mutating func insert(_ key: Signing.Key) -> Bool {
        guard !keys.contains(where: { $0.created == key.created }) else { return false }
        let all = mergedAscending(keys, [key], by: \.created) { mine, _ in mine }
        keys = Array(all.suffix(SigningTable.keysMax))
        return keys.contains { $0.created == key.created }
    }

    /// Adds a revocation; where there are too many, the one that was made first goes.
    ///
    /// - Parameter now: milliseconds since 1970.
    /// - Returns: what is news in it to this node, and so to others; nil for nothing.
    public mutating func insert(_ revocation: Revocation, now: UInt64) -> Revocation? {
        let made = min(revocation.made, now + SigningTable.repeatMilliseconds)
        guard !SigningTable.hasEnded(made, now: now) else { return nil }
        let known = revocations[revocation.name]
        let isRepeated = known.map {
            $0.through >= revocation.through && made < $0.made + SigningTable.repeatMilliseconds
        }
        guard isRepeated != true else { return nil }
        if known == nil, isFull, let first = revocations.values.min(by: SigningTable.isEarlier) {
            revocations[first.name] = nil
        }
        let merged = Revocation(
            name: revocation.name, through: max(known?.through ?? .zero, revocation.through),
            made: max(known?.made ?? 0, made))
        revocations[revocation.name] = merged
        return merged
    }

    private static func isEarlier(_ left: Revocation, _ right: Revocation) -> Bool {
        (left.made, left.name) < (right.made, right.name)
    }

    /// Forgets the revocations of tokens that have all ended.
    ///
    /// - Returns: their names.
    public mutating func forgetEnded(now: UInt64) -> [UserID] {
        let ended = revocations.values.filter { SigningTable.hasEnded($0.made, now: now) }
        for revocation in ended { revocations[revocation.name] = nil }
        return ended.map(\.name).sorted()
    }

    /// Has all revocations end no earlier than if they were made now, since they were judged by a
    /// wrong clock.
    public mutating func renew(now: UInt64) {
        for (name, revocation) in revocations {
            revocations[name] = Revocation(name: name, through: revocation.through, made: now)
        }
    }

    private static func hasEnded(_ made: UInt64, now: UInt64) -> Bool {
        made + lifetimeMilliseconds < now
    }

    /// A checksum of all entries; tables with equal checksums are taken to be equal.
    public var version: UInt64 {
        let sum = revocations.values.reduce(UInt64(0)) {
            $0 &+ checksum(of: $1.name.text, seed: $1.through.bits)
        }
        return keys.reduce(sum) { $0 &+ checksum(of: $1.id.text, seed: $1.created.time.bits) }
    }

    // MARK: Parts

    /// The part in which a revocation is stored.
    public static func part(of name: UserID) -> Int {
        Int(checksum(of: name.text, seed: 0) % UInt64(partsCount))
    }

    /// The stored bytes of a part.
    public func encodedPart(_ part: Int) -> [UInt8] {
        revocations.values.filter { SigningTable.part(of: $0.name) == part }
            .sorted { $0.name < $1.name }.encoded
    }
}

extension SigningTable.Revocation: WireValue {
    public func encode(into writer: inout ByteWriter) {
        writer.write(name)
        through.encode(into: &writer)
        writer.write(varint: made)
    }

    public init(from reader: inout ByteReader) throws(WireError) {
        name = try reader.readName()
        through = try HybridTimestamp(from: &reader)
        made = try reader.readVarint()
    }
}

extension Credentials {
    /// The sign-ins that may be used: of accounts that are there and enabled.
    private var usable: Set<SignInID> {
        Set(
            present.filter { !$0.isDisabled }.flatMap(\.signIns).filter(\.isOpen).map(\.id))
    }

    /// Returns the sign-ins that could be used in an earlier state, and cannot in this one.
    public func ended(since old: Credentials) -> [SignInID] {
        old.usable.subtracting(usable).sorted()
    }
}
