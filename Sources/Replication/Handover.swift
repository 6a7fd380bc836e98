import Wire

/// The progress of handing over a replica of a shard that this node does not own.
///
/// Invariant: the replica is dropped only when every owner, as this node sees the owners, has
/// accepted the replica in its present state, so that all of the replica is on that owner's disk.
/// Acceptances from before a change of the replica or of its owners, or from an earlier connection,
/// do not count.
///
/// Confirmed vectors are not sufficient: an owner may confirm every seq and then lose its disk, or
/// give its own replica away to a node that has fewer seqs.
struct Handover: Sendable {
    /// The number of the offered state; each change of the replica or its owners increases the
    /// number.
    ///
    /// No other handover of the process uses the same number, since acceptances may arrive late.
    private(set) var mark: UInt64
    private(set) var accepted: Set<NodeName> = []
    /// The hash of the header for which a check has found every document on disk and in the index;
    /// nil before the check.
    var checked: UInt64?
    /// Whether an owner has fetched a complete replica from this node: that owner may then accept
    /// writes that this node does not receive, so this replica may be older than the owner's
    /// replies to clients.
    var isSuperseded = false
    /// When the replica was last offered to each owner, in milliseconds.
    private var offeredAt: [NodeName: UInt64] = [:]

    /// How long this node waits before it offers the replica to an owner again, in milliseconds; an
    /// owner ignores an offer while its own view of the owners is out of date.
    static let pauseMilliseconds: UInt64 = 1_000

    /// - Parameter mark: the last mark of earlier handovers.
    init(after mark: UInt64) { self.mark = mark + 1 }

    /// Discards all acceptances after the replica or its owners have changed.
    mutating func restart() {
        mark += 1
        accepted = []
        offeredAt = [:]
    }

    func isChecked(_ hash: UInt64) -> Bool { checked == hash }

    /// Discards the acceptance of a peer, and the time of the last offer to it, after the
    /// connection to the peer has ended.
    mutating func onPeerDown(_ name: NodeName) {
        accepted.remove(name)
        offeredAt[name] = nil
    }

    mutating func onAccepted(_ mark: UInt64, by name: NodeName) {
        if mark == self.mark { accepted.insert(name) }
    }

    /// Returns true, and records the time, if the replica has to be offered to this owner now.
    mutating func takesOffer(to name: NodeName, now: UInt64) -> Bool {
        guard !accepted.contains(name) else { return false }
        if let at = offeredAt[name], now < at + Handover.pauseMilliseconds { return false }
        offeredAt[name] = now
        return true
    }
}
