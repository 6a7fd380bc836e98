import Crypto
import LineProtocol
import Wire

/// The cluster's own signing keys and revocations, as far as this node knows them.
///
/// The cluster stores them as one document, which each node reads several times a second. What was
/// read once stays: a node that reads an older replica forgets no revocation. A new key signs
/// nothing before all nodes have had the time to read it.
struct ClusterKeys: Sendable {
    struct Key: Sendable {
        let name: String
        let secret: [UInt8]
        /// Milliseconds since 1970.
        let createdAt: Int64
        /// When this node read it first, in its own milliseconds.
        let readAt: UInt64
    }

    /// How often a node reads the keys, in milliseconds.
    static let pollMilliseconds: UInt64 = 250
    /// How long a key is known before it signs tokens, in milliseconds.
    static let settleMilliseconds: UInt64 = 1_000
    /// The age from which on the newest key is to be replaced, in milliseconds (30 days).
    static let ageMaxMilliseconds: Int64 = 30 * 24 * 3_600_000
    /// The most unknown key names that are remembered; tokens with others are refused at once.
    private static let unknownMax = 256

    /// Ascending by creation.
    private(set) var keys: [Key] = []
    private(set) var revocations = Revocations()
    /// When the last successful read began, in milliseconds; nil before the first.
    private(set) var readAt: UInt64?
    /// The names of keys that tokens named and that are not here, and when that was first.
    private var unknown: [String: UInt64] = [:]

    var keySet: KeySet? {
        readAt == nil
            ? nil : KeySet(keys.map { (name: $0.name, secret: $0.secret) }, revocations)
    }

    /// Adds what was read.
    ///
    /// - Parameter began: when the read began, in milliseconds.
    /// - Returns: whether it differs from what was known.
    mutating func insert(_ reply: LineCall.Reply, readAt began: UInt64, now: UInt64) -> Bool {
        let before = (keys.count, revocations)
        for (noun, fields) in reply.lines {
            switch noun {
            case "KEY":
                guard let name = fields["id"], !keys.contains(where: { $0.name == name }),
                    let secret = fields["secret"].flatMap(Base64.decode),
                    secret.count >= SignatureKey.secretBytesMin,
                    let stamp = fields["stamp"].flatMap({ UInt64($0) })
                else { continue }
                keys.append(
                    Key(name: name, secret: secret, createdAt: Int64(stamp >> 16), readAt: now))
            case "REVOKED":
                guard let name = fields["name"],
                    let stamp = fields["through"].flatMap({ UInt64($0) })
                else { continue }
                revocations.insert(name, through: stamp)
            default: continue
            }
        }
        keys.sort { ($0.createdAt, $0.name) < ($1.createdAt, $1.name) }
        keys = Array(keys.suffix(KeySet.keysMax))
        if let floor = reply.status?["through"].flatMap({ UInt64($0) }) {
            revocations.raiseFloor(to: floor)
        }
        let isFirst = readAt == nil
        readAt = began
        return isFirst || before.0 != keys.count || before.1 != revocations
    }

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

    /// Whether a key of this name may be on its way here: no read has begun since a token named it.
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
