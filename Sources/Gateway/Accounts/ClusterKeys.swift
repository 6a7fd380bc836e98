import Crypto
import Node
import Wire

/// The cluster's own signing keys and revocations, as far as this node knows them.
///
/// The node has all of them on its disk and hears what changes from the others. A new key signs
/// nothing before all nodes have had the time to hear of it.
struct ClusterKeys: Sendable {
    struct Key: Sendable {
        let name: String
        let secret: [UInt8]
        /// Milliseconds since 1970.
        let createdAt: Int64
        /// When this node heard of it, in its own milliseconds.
        let readAt: UInt64
    }

    /// How often a node looks whether a key is needed, in milliseconds.
    static let lookMilliseconds: UInt64 = 250
    /// How long a key may be on its way to this node, in milliseconds.
    static let comingMilliseconds: UInt64 = 1_000
    /// How long a key is known before it signs tokens, in milliseconds.
    static let settleMilliseconds: UInt64 = 1_000
    /// The age from which on the newest key is to be replaced, in milliseconds (30 days).
    static let ageMaxMilliseconds: Int64 = 30 * 24 * 3_600_000
    /// The most unknown key names that are remembered; tokens with others are refused at once.
    private static let unknownMax = 256

    /// Ascending by creation.
    private(set) var keys: [Key] = []
    private(set) var revocations = Revocations()
    /// The time up to which what other nodes made is known here, in milliseconds; nil at first.
    private(set) var readAt: UInt64?
    /// The names of keys that tokens named and that are not here, and when that was first.
    private var unknown: [String: UInt64] = [:]

    var keySet: KeySet? {
        readAt == nil
            ? nil : KeySet(keys.map { (name: $0.name, secret: $0.secret) }, revocations)
    }

    /// Adds what is new.
    ///
    /// - Parameter known: the time up to which what other nodes made is known, in milliseconds.
    /// - Returns: whether it differs from what was known.
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

    /// Notes that nothing has changed up to a time, in milliseconds.
    mutating func noteKnown(upTo time: UInt64) { readAt = readAt.map { max($0, time) } }

    /// The key that signs new tokens; nil where none is known long enough.
    func signer(now: UInt64) -> Key? {
        keys.last { now >= $0.readAt + ClusterKeys.settleMilliseconds }
    }

    /// Whether the cluster needs another key: it has none, or its newest is old.
    func needsKey(wallMilliseconds: UInt64) -> Bool {
        guard readAt != nil else { return false }
        guard let newest = keys.last else { return true }
        return Int64(clamping: wallMilliseconds) - newest.createdAt
            > ClusterKeys.ageMaxMilliseconds
    }

    /// Whether a key of this name may be on its way here: it is not long that a token named it.
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
