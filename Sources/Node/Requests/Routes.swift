import Wire

/// The members that this node asks for each shard, and the members that it does not ask now.
struct Routes: Sendable {
    /// How long a member that could not answer is not asked again, in milliseconds.
    static let pauseMilliseconds: UInt64 = 200

    /// The owner that was chosen last for each shard.
    ///
    /// Later requests go to the same owner, so that clients see their own writes.
    private var preferred: [ShardID: NodeName] = [:]
    /// The members that could not answer for a shard, and the time until which they are not asked,
    /// in milliseconds.
    private var refused: [ShardID: [NodeName: UInt64]] = [:]
    /// The members that left a request unanswered, and when this was recorded, in milliseconds.
    private var mute: [NodeName: UInt64] = [:]

    func preferred(for shard: ShardID) -> NodeName? { preferred[shard] }

    mutating func prefer(_ name: NodeName, for shard: ShardID) { preferred[shard] = name }

    mutating func noteRefused(_ name: NodeName, _ shard: ShardID, now: UInt64) {
        refused[shard, default: [:]][name] = now + Routes.pauseMilliseconds
    }

    mutating func noteMute(_ name: NodeName, now: UInt64) { mute[name] = now }

    /// - Parameter heardAt: when the last frame of the member arrived, in milliseconds.
    func mayAsk(_ name: NodeName, for shard: ShardID, heardAt: UInt64, now: UInt64) -> Bool {
        if let until = refused[shard]?[name], now < until { return false }
        return !isMute(name, heardAt: heardAt, now: now)
    }

    /// Returns whether no requests are sent to a member, because no frame of the member has arrived
    /// since it left a request unanswered, or because that was less than `pauseMilliseconds` ago.
    func isMute(_ name: NodeName, heardAt: UInt64, now: UInt64) -> Bool {
        guard let since = mute[name] else { return false }
        return heardAt <= since || now < since + Routes.pauseMilliseconds
    }

    /// Removes refusals that have expired.
    mutating func onTick(now: UInt64) {
        guard !refused.isEmpty else { return }
        refused = refused.mapValues { $0.filter { now < $1 } }.filter { !$1.isEmpty }
    }

    /// Allows requests to a member again, since it has a new connection.
    mutating func unmute(_ name: NodeName) { mute[name] = nil }
}
