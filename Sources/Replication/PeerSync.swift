import Wire

/// What two nodes tell each other twice a second, over all shards that they share.
///
/// In sync it is one hash each time and direction, however large the state. Where the hashes
/// differ, the shards' own follow, and for those that differ each says what it holds.
public struct PeerSync: Sendable {
    public let peer: NodeName
    /// When anything was last heard of the peer, in milliseconds.
    public private(set) var heardAt: UInt64
    /// When the two were last known to be level.
    private var levelAt: UInt64?
    /// The hash at which they were.
    private var levelHash: UInt64?
    private var summarizedAt: UInt64?

    /// How often a summary is sent, in milliseconds: what one of two got from a node that died is
    /// to be with the other within a second, and the exchange that follows takes its time too.
    public static let summaryMilliseconds: UInt64 = 500
    /// After how much silence a connection is given up, in milliseconds: longer than any pause that
    /// a node should survive without being held dead.
    public static let silenceMilliseconds: UInt64 = 6_000
    /// After how much silence the two compare at once when they hear of each other again.
    static let gapMilliseconds: UInt64 = 1_000

    public init(to peer: NodeName, now: UInt64) {
        self.peer = peer
        heardAt = now
    }

    /// The hash over all shards that the two own.
    public static func summary(of hashes: [Frame.ShardHash]) -> UInt64 {
        var writer = ByteWriter(reserving: hashes.count * 12)
        for entry in hashes {
            writer.write(entry.shard)
            writer.write(fixed: entry.hash)
        }
        return writer.withUnsafeBytes { checksum($0) }
    }

    /// Whether it is time for a summary: at once when the connection comes up, then each second.
    public mutating func takesSummary(now: UInt64) -> Bool {
        if let summarizedAt, now < summarizedAt + PeerSync.summaryMilliseconds { return false }
        summarizedAt = now
        return true
    }

    /// Something was heard; after a gap the two compare at once.
    public mutating func onHeard(now: UInt64) {
        if now >= heardAt + PeerSync.gapMilliseconds { compareNow() }
        heardAt = now
    }

    /// Something to the peer was dropped, or a difference is likely: the next summary is due.
    public mutating func compareNow() { summarizedAt = nil }

    /// The peer's summary came.
    ///
    /// - Returns: whether the two are level.
    public mutating func onSummary(_ theirs: UInt64, ours: UInt64, now: UInt64) -> Bool {
        guard theirs == ours else { return false }
        levelAt = now
        levelHash = ours
        return true
    }

    /// How long the word of a peer counts, in milliseconds.
    static let levelMilliseconds: UInt64 = 2_000

    /// Whether the peer said lately that it holds what this hash stands for.
    public func isLevel(with hash: UInt64, now: UInt64) -> Bool {
        guard let levelAt else { return false }
        return levelHash == hash && now < levelAt + PeerSync.levelMilliseconds
    }

    /// Whether nothing was heard for so long that a connection in its place may be believed: who
    /// lives sends a summary each half second.
    public func isQuiet(now: UInt64) -> Bool { now >= heardAt + PeerSync.gapMilliseconds }

    public func isSilent(now: UInt64) -> Bool { now >= heardAt + PeerSync.silenceMilliseconds }
}
