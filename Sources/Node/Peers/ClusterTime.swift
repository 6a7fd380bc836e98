import CRDT
import Membership
import Wire

/// The latest time that a node accepts: `--max-offset` after the later of the cluster's time and
/// the node's own time.
struct TimeHorizon: Hashable, Sendable {
    let maxOffsetMilliseconds: UInt64
    /// The lead of the cluster's wall clock over this node's monotonic clock, in milliseconds; nil
    /// while the node hears no member.
    var clusterLead: Int64?

    init(maxOffsetMilliseconds: UInt64) { self.maxOffsetMilliseconds = maxOffsetMilliseconds }

    /// Returns the wall-clock time, with the latest time that this node accepts.
    ///
    /// A node always accepts its own time: its timestamps follow its clock even if the clock is
    /// ahead of the cluster's.
    func wallTime(_ clock: any Clock) -> WallTime {
        let wall = clock.wallMilliseconds
        let cluster = clusterLead.map { Int64(clamping: clock.milliseconds) &+ $0 } ?? 0
        let latest = max(wall, UInt64(clamping: cluster))
            .addingReportingOverflow(maxOffsetMilliseconds)
        return WallTime(
            milliseconds: wall, latestMilliseconds: latest.overflow ? .max : latest.partialValue)
    }
}

/// The difference between this node's wall clock and those of the members that it hears, measured
/// by its probes.
///
/// Each clock is stored as its lead over this node's monotonic clock. A jump of this node's wall
/// clock thus shows at the next tick, and a jump of a member's clock at the next probe.
package struct ClusterTime: Sendable {
    private var horizon: TimeHorizon
    /// The lead of each member's wall clock over this node's monotonic clock, in milliseconds.
    private var leads: [NodeName: Int64] = [:]
    /// The lead of this node's wall clock over its monotonic clock at the last tick, in
    /// milliseconds.
    private var ownLead: Int64
    /// The lead of this node's wall clock over the median of the clocks, in milliseconds; negative
    /// if this clock is behind, nil while the node hears no member.
    private(set) var offset: Int64?

    init(maxOffsetMilliseconds: UInt64, _ clock: any Clock) {
        horizon = TimeHorizon(maxOffsetMilliseconds: maxOffsetMilliseconds)
        ownLead = ClusterTime.lead(of: clock.wallMilliseconds, clock)
    }

    var current: TimeHorizon { horizon }

    /// The offset if it is so large that writes are refused; nil if writes are accepted.
    var refusedOffset: Int64? {
        guard let offset, offset.magnitude > horizon.maxOffsetMilliseconds else { return nil }
        return offset
    }

    private static func lead(of wall: UInt64, _ clock: any Clock) -> Int64 {
        Int64(clamping: wall) &- Int64(clamping: clock.milliseconds)
    }

    /// Records the wall-clock time that a member sent in its answer to a probe.
    ///
    /// The error of the measurement is at most half of the round trip. A round trip longer than the
    /// allowed offset, and longer than 100 ms, is ignored, because its measurement is too
    /// inaccurate.
    ///
    /// - Parameter wall: the member's wall clock when it answered, in milliseconds.
    mutating func recordOffset(
        _ name: NodeName, wall: UInt64, rttMilliseconds: UInt64, _ clock: any Clock
    ) {
        guard rttMilliseconds <= max(horizon.maxOffsetMilliseconds, 100) else { return }
        // This node's wall clock has jumped since the last tick, or the machine slept, so that
        // `ownLead` does not belong to the clock read here.
        let jump = ClusterTime.lead(of: clock.wallMilliseconds, clock) &- ownLead
        guard jump.magnitude <= horizon.maxOffsetMilliseconds else { return }
        // The member's time is compared with the wall clock, which is read now. The monotonic clock
        // is read once a turn, and a turn may be long.
        let ahead = Int64(clamping: wall) &- Int64(clamping: clock.wallMilliseconds)
        leads[name] = ownLead &+ ahead &+ Int64(rttMilliseconds / 2)
    }

    /// Computes the cluster's time and this node's offset from it.
    ///
    /// - Parameter heard: the members that are connected and alive; other clocks are forgotten.
    mutating func onTick(barrierRound heard: [NodeName], _ clock: any Clock) {
        ownLead = ClusterTime.lead(of: clock.wallMilliseconds, clock)
        leads = leads.filter { heard.contains($0.key) }
        horizon.clusterLead = ClusterTime.median(of: leads.values.sorted(), and: ownLead)
        offset = horizon.clusterLead.map { ownLead &- $0 }
    }

    /// Returns the median of the members' leads; an even number is completed by this node's lead.
    private static func median(of leads: [Int64], and own: Int64) -> Int64? {
        guard !leads.isEmpty else { return nil }
        let leads = leads.count % 2 == 1 ? leads : (leads + [own]).sorted()
        return leads[leads.count / 2]
    }
}

extension Node {
    /// Compares the clocks, and logs when the offset of this node's clock exceeds the limit or
    /// returns below the limit.
    func tickClock() {
        let (horizon, wasWrong) = (clusterTime.current, clusterTime.refusedOffset != nil)
        let heard = links.names.filter { membership.state(of: $0) == .alive }
        clusterTime.onTick(barrierRound: heard, ports.clock)
        if clusterTime.current != horizon {
            let horizon = clusterTime.current
            for shard in shards { shard.assumeIsolated { $0.setHorizon(horizon) } }
        }
        switch (wasWrong, clusterTime.refusedOffset) {
        case (false, let offset?):
            ports.host.log(
                .error,
                "\(ClusterTime.sentence(offset)); writes are refused until it is corrected")
        case (true, nil):
            ports.host.log(.info, "the clock agrees with the cluster again; writes are accepted")
            onClockCorrected()
        default: break
        }
        // The measurements may be from before a sleep of this machine, or from before a correction
        // of a clock.
        if clusterTime.refusedOffset != nil {
            membership.pingAll(now: ports.clock.milliseconds)
            followMembership()
        }
    }

    /// Records the wall-clock time that a member sent in its answer to a probe.
    func noteClock(of name: NodeName, wall: UInt64, rttMilliseconds: UInt64) {
        clusterTime.recordOffset(name, wall: wall, rttMilliseconds: rttMilliseconds, ports.clock)
    }

    var wallTime: WallTime { clusterTime.current.wallTime(ports.clock) }

    /// Returns the identity and the time of a new operation.
    func nextOperation() -> Stamp { operations.source.next(at: wallTime) }

    /// Advances the clock of operations past a time that clients of this node see, if the node
    /// accepts the time.
    func observe(_ time: HybridTimestamp) {
        // In most calls the time is that of the last operation.
        guard time != latestTime else { return }
        operations.source.observe(time, at: wallTime)
    }

    /// The time after which the next operation is stamped.
    var latestTime: HybridTimestamp { operations.source.greatestTime }
}

extension ClusterTime {
    /// Returns the sentence for a clock that is `offset` milliseconds ahead; negative means behind.
    package static func sentence(_ offset: Int64) -> String {
        let milliseconds = offset.magnitude
        let amount = milliseconds < 1_000 ? "\(milliseconds) ms" : "\(milliseconds / 1_000) s"
        return "Clock is \(amount) \(offset < 0 ? "behind" : "ahead of") the cluster's"
    }
}
