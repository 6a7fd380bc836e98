import Wire

/// A copy that this node holds and should not: how far it is with giving it away.
///
/// Invariant: the copy goes only when every owner, as this node sees them, has accepted it as it
/// is, which means that all of it is on that owner's disk. What was accepted before the copy or its
/// owners changed, or on an earlier connection, does not count.
///
/// Confirmed vectors are not enough: an owner may hold every seq and lose it with a disk that is
/// replaced, or give its own copy away to somebody who has less.
struct Handover: Sendable {
    /// Which state of the copy is offered; another for each change of it or of its owners.
    ///
    /// No other handover of the process has it: an owner may answer late.
    private(set) var mark: UInt64
    private(set) var accepted: Set<NodeName> = []
    /// The hash of the copy that the disk was found to hold, each document led to by its indexes;
    /// nil before it was looked at.
    var checked: UInt64?
    /// Whether an owner has a complete copy from here, to which writes go that do not come here:
    /// what is here may be older than what was shown there.
    var isSuperseded = false
    /// When each owner was last told, in milliseconds.
    private var offeredAt: [NodeName: UInt64] = [:]

    /// How long an owner is given before it is told again, in milliseconds: its own view of the
    /// owners may be behind.
    static let pauseMilliseconds: UInt64 = 1_000

    /// - Parameter mark: the last one of the handovers before.
    init(after mark: UInt64) { self.mark = mark + 1 }

    /// The copy, or who owns it, changed: what was accepted counts for nothing.
    mutating func restart() {
        mark += 1
        accepted = []
        offeredAt = [:]
    }

    func isChecked(_ hash: UInt64) -> Bool { checked == hash }

    /// The connection is gone, and with it what was said on it.
    mutating func onPeerDown(_ name: NodeName) {
        accepted.remove(name)
        offeredAt[name] = nil
    }

    mutating func onAccepted(_ mark: UInt64, by name: NodeName) {
        if mark == self.mark { accepted.insert(name) }
    }

    /// Whether it is time to offer the copy to an owner.
    mutating func takesOffer(to name: NodeName, now: UInt64) -> Bool {
        guard !accepted.contains(name) else { return false }
        if let at = offeredAt[name], now < at + Handover.pauseMilliseconds { return false }
        offeredAt[name] = now
        return true
    }
}
