import Crypto
import Node
import Wire

/// The cluster's own keys that sign access and refresh tokens, and the revocations of tokens, as
/// far as this node has received them.
///
/// Each node stores all keys and revocations on disk and receives changes from the other nodes. A
/// new key signs nothing for `settleMilliseconds`, so that all nodes receive the key first.
struct ClusterKeys: Sendable {
    struct Key: Sendable {
        let name: String
        let secret: [UInt8]
        /// The creation time of the signing key, in milliseconds since 1970.
        let createdAt: Int64
        /// When this node received the signing key, in milliseconds of its monotonic clock.
        let readAt: UInt64
    }

    /// The interval of checks whether the cluster needs another signing key, in milliseconds.
    static let lookMilliseconds: UInt64 = 250
    /// The maximum time for a new signing key to propagate to this node, in milliseconds.
    static let comingMilliseconds: UInt64 = 1_000
    /// The time between a signing key's arrival at this node and its first use, in milliseconds.
    static let settleMilliseconds: UInt64 = 1_000
    /// The age of the newest signing key at which a node adds another, in milliseconds (30 days).
    static let ageMaxMilliseconds: Int64 = 30 * 24 * 3_600_000
    /// The maximum number of unknown signing keys, named by tokens, whose arrival this node
    /// expects; tokens that name further unknown keys are refused immediately.
    private static let unknownMax = 256

    /// The signing keys, in the order of their creation times.
    private(set) var keys: [Key] = []
    private(set) var revocations = Revocations()
    /// The time up to which this node has received other nodes' changes of keys and revocations, in
    /// milliseconds; nil before this node has applied any.
    private(set) var readAt: UInt64?
    /// For each signing key that this node lacks, by key name: when a token first named the key, in
    /// milliseconds.
    private var unknown: [String: UInt64] = [:]

    var keySet: KeySet? {
        readAt == nil
            ? nil : KeySet(keys.map { (name: $0.name, secret: $0.secret) }, revocations)
    }

    /// Applies new signing keys, new token revocations, and removals of revocations.
    ///
    /// - Parameter known: the time up to which other nodes' changes are included, in milliseconds.
    /// - Returns: whether keys or revocations have changed; true for the first call.
    mutating func insert(_ news: SigningNews, readAt known: UInt64, now: UInt64) -> Bool {
        let before = (keys.count, revocations)
        for key in news.keys where !keys.contains(where: { $0.name == key.name }) {
            guard let secret = Base64.decode(key.secret),
                secret.count >= SignatureKey.secretBytesMin
            else { continue }
            keys.append(
                Key(
                    name: key.name, secret: secret, createdAt: Int64(key.stamp >> 16),
                    readAt: now))
        }
        keys.sort { ($0.createdAt, $0.name) < ($1.createdAt, $1.name) }
        keys = Array(keys.suffix(KeySet.keysMax))
        for name in news.forgotten { revocations.remove(name) }
        for revocation in news.revoked {
            revocations.insert(revocation.name, through: revocation.through)
        }
        let isFirst = readAt == nil
        readAt = known
        return isFirst || before.0 != keys.count || before.1 != revocations
    }

    /// Records that this node has all changes of keys up to a time, in milliseconds.
    mutating func noteKnown(upTo time: UInt64) { readAt = readAt.map { max($0, time) } }

    /// Returns the key that signs new tokens: the newest that this node has had for
    /// `settleMilliseconds`; nil if there is none.
    func signer(now: UInt64) -> Key? {
        keys.last { now >= $0.readAt + ClusterKeys.settleMilliseconds }
    }

    /// Whether the cluster needs another signing key, because it has none, or because its newest is
    /// older than `ageMaxMilliseconds`.
    func needsKey(wallMilliseconds: UInt64) -> Bool {
        guard readAt != nil else { return false }
        guard let newest = keys.last else { return true }
        return Int64(clamping: wallMilliseconds) - newest.createdAt
            > ClusterKeys.ageMaxMilliseconds
    }

    /// Whether a signing key that this node lacks may still arrive, because a token has named the
    /// key for the first time only recently.
    mutating func isComing(_ name: String, now: UInt64) -> Bool {
        guard !keys.contains(where: { $0.name == name }) else { return false }
        let since = unknown[name] ?? now
        if unknown[name] == nil, unknown.count >= ClusterKeys.unknownMax {
            let read = readAt ?? 0
            unknown = unknown.filter { $0.value >= read }
            guard unknown.count < ClusterKeys.unknownMax else { return false }
        }
        unknown[name] = since
        return readAt.map { $0 <= since } ?? true
    }
}
