import CRDT
import Wire

/// The keys with which the cluster signs access tokens, and the users and sign-ins whose tokens are
/// revoked: one node's copy.
///
/// Every node stores all keys and revocations. A merge is a union; a revocation is removed once
/// every token that it revokes has expired.
public struct SigningTable: Hashable, Sendable {
    public struct Revocation: Hashable, Sendable {
        /// The name of a user or of a sign-in.
        public let name: UserID
        /// Tokens of sign-ins that began no later than this time are refused.
        public let through: HybridTimestamp
        /// The time of the last request for the revocation, in milliseconds since 1970; no token
        /// that it revokes is issued later.
        public let made: UInt64

        public init(name: UserID, through: HybridTimestamp, made: UInt64) {
            self.name = name
            self.through = through
            self.made = made
        }
    }

    /// The most keys that are kept; a further key replaces the oldest one.
    public static let keysMax = Signing.keysMax
    /// The most revocations that are kept: more than the number of passwords that nodes can check
    /// within `lifetimeMilliseconds`.
    public static let revocationsMax = 65_536
    /// The time for which a revocation is kept, in milliseconds: the ten minutes for which an
    /// access token is valid, plus 20 seconds for the difference of two nodes' clocks.
    public static let lifetimeMilliseconds: UInt64 = 620_000
    /// The time in milliseconds within which a repeated revocation is ignored and not sent on.
    static let repeatMilliseconds: UInt64 = 10_000
    /// The value of `through` in an action that deletes the user's account when it is executed.
    public static let deletionNow = HybridTimestamp(milliseconds: .max)
    /// The number of parts in which the revocations are stored.
    public static let partsCount = 64

    /// The signing keys, ascending by the stamp of their creation.
    public private(set) var keys: [Signing.Key] = []
    private var revocations: [UserID: Revocation] = [:]

    public init() {}

    public var isFull: Bool { revocations.count >= SigningTable.revocationsMax }

    public func revocation(of name: UserID) -> Revocation? { revocations[name] }

    /// Returns the `through` of the revocation of a user whose account is deleted.
    ///
    /// The returned time is the last timestamp of a millisecond. A clock issues it only after
    /// 65,535 others in the same millisecond, so nodes of all versions take it as the mark of a
    /// deleted account. The returned time is also no earlier than an existing revocation of the
    /// user, even one by a clock that runs ahead, since the later of two revocations counts.
    ///
    /// - Parameter now: the present time in milliseconds since 1970.
    public func deletion(of user: UserID, now: UInt64) -> HybridTimestamp {
        let revoked = revocations[user]?.through.milliseconds ?? 0
        return HybridTimestamp(
            bits: HybridTimestamp(milliseconds: max(now, revoked)).bits | 0xFFFF)
    }

    /// Returns the time at which a user's account was deleted; nil if no kept revocation records
    /// that, or if a later revocation of the user replaced it.
    public func deletion(of user: UserID) -> HybridTimestamp? {
        revocations[user].map(\.through).flatMap { $0.bits & 0xFFFF == 0xFFFF ? $0 : nil }
    }

    /// The revocations, ascending by name.
    public var revoked: [Revocation] { revocations.values.sorted { $0.name < $1.name } }

    /// - Returns: true if the key is new to this table and is kept.
    public mutating func insert(_ key: Signing.Key) -> Bool {
        guard !keys.contains(where: { $0.created == key.created }) else { return false }
        let all = mergedAscending(keys, [key], by: \.created) { mine, _ in mine }
        keys = Array(all.suffix(SigningTable.keysMax))
        return keys.contains { $0.created == key.created }
    }

    /// Adds a revocation; if there are too many, the earliest one is removed.
    ///
    /// - Parameter now: the present time in milliseconds since 1970.
    /// - Returns: the merged revocation, which has to be stored and sent to other nodes; nil if it
    ///   contains nothing new.
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

    /// Removes the revocations whose revoked tokens have all expired.
    ///
    /// - Returns: the names of the removed revocations.
    public mutating func forgetEnded(now: UInt64) -> [UserID] {
        let ended = revocations.values.filter { SigningTable.hasEnded($0.made, now: now) }
        for revocation in ended { revocations[revocation.name] = nil }
        return ended.map(\.name).sorted()
    }

    /// Extends all revocations as if they had been made now; called after a correction of the clock
    /// by which their times were judged.
    public mutating func renew(now: UInt64) {
        for (name, revocation) in revocations {
            revocations[name] = Revocation(name: name, through: revocation.through, made: now)
        }
    }

    private static func hasEnded(_ made: UInt64, now: UInt64) -> Bool {
        made + lifetimeMilliseconds < now
    }

    /// A checksum of all entries; tables with equal checksums count as equal.
    public var version: UInt64 {
        let sum = revocations.values.reduce(UInt64(0)) {
            $0 &+ checksum(of: $1.name.text, seed: $1.through.bits)
        }
        return keys.reduce(sum) { $0 &+ checksum(of: $1.id.text, seed: $1.created.time.bits) }
    }

    // MARK: Parts

    /// Returns the number of the part in which a revocation is stored.
    public static func part(of name: UserID) -> Int {
        Int(checksum(of: name.text, seed: 0) % UInt64(partsCount))
    }

    /// Returns the bytes of a part, as they are stored.
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
    /// The open sign-ins of accounts that are neither removed nor disabled.
    private var usable: Set<SignInID> {
        Set(
            present.filter { !$0.isDisabled }.flatMap(\.signIns).filter(\.isOpen).map(\.id))
    }

    /// Returns the sign-ins that were usable in the state `old` and are not usable in this state.
    public func ended(since old: Credentials) -> [SignInID] {
        old.usable.subtracting(usable).sorted()
    }
}
