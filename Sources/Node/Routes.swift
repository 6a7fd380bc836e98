import Wire

/// Whom this node asks for which shard, and whom not at the moment.
struct Routes: Sendable {
    /// For how long who could not answer is not asked again, in milliseconds.
    static let pauseMilliseconds: UInt64 = 200

    /// Who answered last: the same again, so that what was written there is seen.
    private var preferred: [ShardID: NodeName] = [:]
    /// Who said that it could not, and until when that counts.
    private var refused: [ShardID: [NodeName: UInt64]] = [:]
    /// Who did not answer at all, and since when.
    private var mute: [NodeName: UInt64] = [:]

    func preferred(for shard: ShardID) -> NodeName? { preferred[shard] }

    mutating func prefer(_ name: NodeName, for shard: ShardID) { preferred[shard] = name }

    mutating func noteRefused(_ name: NodeName, _ shard: ShardID, now: UInt64) {
        refused[shard, default: [:]][name] = now + Routes.pauseMilliseconds
    }

    mutating func noteMute(_ name: NodeName, now: UInt64) { mute[name] = now }

    /// - Parameter heardAt: when anything last came from it.
    func mayAsk(_ name: NodeName, for shard: ShardID, heardAt: UInt64, now: UInt64) -> Bool {
        if let until = refused[shard]?[name], now < until { return false }
        return !isMute(name, heardAt: heardAt, now: now)
    }

    /// Whether nothing has come from it since it left something unanswered.
    func isMute(_ name: NodeName, heardAt: UInt64, now: UInt64) -> Bool {
        guard let since = mute[name] else { return false }
        return heardAt <= since || now < since + Routes.pauseMilliseconds
    }

    /// Time passes: what does not count any longer is forgotten.
    mutating func onTick(now: UInt64) {
        guard !refused.isEmpty else { return }
        refused = refused.mapValues { $0.filter { now < $1 } }.filter { !$1.isEmpty }
    }

    /// It is connected anew.
    mutating func forget(_ name: NodeName) { mute[name] = nil }
}
