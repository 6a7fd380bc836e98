import Wire

/// The periodic comparison of all shards that this node shares with one other node.
///
/// Each node sends a summary twice a second: one hash, however large the state. Where the summaries
/// differ, the hashes of the single shards follow; for each shard that differs, both nodes send
/// offers.
public struct PeerSync: Sendable {
    public let peer: NodeName
    /// When any frame of the peer last arrived, in milliseconds.
    public private(set) var heardAt: UInt64
    /// When the two nodes were last known to be in sync, in milliseconds.
    private var levelAt: UInt64?
    /// The summary hash of both nodes when they were last known to be in sync.
    private var caughtUpHash: UInt64?
    private var summarizedAt: UInt64?

    /// The interval between summaries, in milliseconds.
    ///
    /// A change that only one node received from a node that died has to reach the other owners
    /// within a second, including the exchange.
    public static let summaryMilliseconds: UInt64 = 500
    /// The silence after which a connection is closed, in milliseconds: longer than any pause that
    /// a node should survive without being considered dead.
    public static let silenceMilliseconds: UInt64 = 6_000
    /// The silence after which the next frame triggers a comparison at once, in milliseconds.
    static let gapMilliseconds: UInt64 = 1_000

    public init(to peer: NodeName, now: UInt64) {
        self.peer = peer
        heardAt = now
    }

    /// Returns the hash over the hashes of all shards that the two nodes own.
    public static func summary(of hashes: [Frame.ShardHash]) -> UInt64 {
        var writer = ByteWriter(reserving: hashes.count * 12)
        for entry in hashes {
            writer.write(entry.shard)
            writer.write(fixed: entry.hash)
        }
        return writer.withUnsafeBytes { checksum($0) }
    }

    /// Returns whether a summary has to be sent now: at once on a new connection, then every
    /// `summaryMilliseconds`.
    public mutating func takesSummary(now: UInt64) -> Bool {
        if let summarizedAt, now < summarizedAt + PeerSync.summaryMilliseconds { return false }
        summarizedAt = now
        return true
    }

    /// Records that a frame arrived; after a gap, the next summary is due at once.
    public mutating func onHeard(now: UInt64) {
        if now >= heardAt + PeerSync.gapMilliseconds { compareNow() }
        heardAt = now
    }

    /// Makes the next summary due at once, since a frame was dropped or a difference is likely.
    public mutating func compareNow() { summarizedAt = nil }

    /// Compares the peer's summary with this node's summary.
    ///
    /// - Returns: whether the two nodes are in sync.
    public mutating func onSummary(_ theirs: UInt64, ours: UInt64, now: UInt64) -> Bool {
        guard theirs == ours else { return false }
        levelAt = now
        caughtUpHash = ours
        return true
    }

    /// How long two nodes count as in sync after a matching summary of the peer, in milliseconds.
    static let levelMilliseconds: UInt64 = 2_000

    /// Returns whether the peer recently sent a summary that equals this hash.
    public func isCaughtUp(with hash: UInt64, now: UInt64) -> Bool {
        guard let levelAt else { return false }
        return caughtUpHash == hash && now < levelAt + PeerSync.levelMilliseconds
    }

    /// Returns whether the peer has been silent for so long that a new connection under its name
    /// may replace the present connection; a living peer sends a summary every half second.
    public func isQuiet(now: UInt64) -> Bool { now >= heardAt + PeerSync.gapMilliseconds }

    public func isSilent(now: UInt64) -> Bool { now >= heardAt + PeerSync.silenceMilliseconds }
}
