import Wire

/// The progress of giving away a replica that this node holds and does not own.
///
/// Invariant: the replica is dropped only when every owner, as this node sees the owners, has
/// accepted it in its present state, which means that all of it is on that owner's disk.
/// Acceptances from before a change of the replica or of its owners, or from an earlier connection,
/// do not count.
///
/// Confirmed vectors are not enough: an owner may hold every seq and lose it with a disk that is
/// replaced, or give its own replica away to a node that has less.
struct Handover: Sendable {
    /// The number of the offered state; it grows with each change of the replica or of its owners.
    ///
    /// No other handover of the process uses the same number, since an owner may answer late.
    private(set) var mark: UInt64
    private(set) var accepted: Set<NodeName> = []
    /// The hash of the header whose documents the disk has been checked to hold, each reachable
    /// through its indexes; nil before the check.
    var checked: UInt64?
    /// Whether an owner has fetched a complete replica from here: writes may then go to that owner
    /// without coming here, so this replica may be older than what clients were shown there.
    var isSuperseded = false
    /// When the replica was last offered to each owner, in milliseconds.
    private var offeredAt: [NodeName: UInt64] = [:]

    /// How long this node waits before it offers the replica to an owner again, in milliseconds;
    /// the owner's own view of the owners may be out of date.
    static let pauseMilliseconds: UInt64 = 1_000

    /// - Parameter mark: the last mark of earlier handovers.
    init(after mark: UInt64) { self.mark = mark + 1 }

    /// Voids all acceptances after the replica or its owners have changed.
    mutating func restart() {
        mark += 1
        accepted = []
        offeredAt = [:]
    }

    func isChecked(_ hash: UInt64) -> Bool { checked == hash }

    /// Voids what was exchanged on a connection that has ended.
    mutating func onPeerDown(_ name: NodeName) {
        accepted.remove(name)
        offeredAt[name] = nil
    }

    mutating func onAccepted(_ mark: UInt64, by name: NodeName) {
        if mark == self.mark { accepted.insert(name) }
    }

    /// Whether the replica is to be offered to an owner now; if so, the time is recorded.
    mutating func takesOffer(to name: NodeName, now: UInt64) -> Bool {
        guard !accepted.contains(name) else { return false }
        if let at = offeredAt[name], now < at + Handover.pauseMilliseconds { return false }
        offeredAt[name] = now
        return true
    }
}
