import CRDT
import Membership
import Wire

/// The latest time that a node believes: that of the cluster, or its own where it hears nobody, and
/// `--max-offset` beyond.
struct TimeHorizon: Hashable, Sendable {
    let maxOffsetMilliseconds: UInt64
    /// By how much the cluster's wall clock is ahead of this node's monotonic one, in milliseconds;
    /// nil while nobody is heard.
    var clusterLead: Int64?

    init(maxOffsetMilliseconds: UInt64) { self.maxOffsetMilliseconds = maxOffsetMilliseconds }

    /// Never before the own wall clock: timestamps go on with it while nobody says otherwise.
    func wallTime(_ clock: any Clock) -> WallTime {
        let wall = clock.wallMilliseconds
        let cluster = clusterLead.map { Int64(clamping: clock.milliseconds) &+ $0 } ?? 0
        let latest = max(wall, UInt64(clamping: cluster))
            .addingReportingOverflow(maxOffsetMilliseconds)
        return WallTime(
            milliseconds: wall, latestMilliseconds: latest.overflow ? .max : latest.partialValue)
    }
}

/// How far this node's wall clock is from those of the members that it hears, by its probes.
///
/// A member's clock is kept by how far it is ahead of this node's monotonic one, so that a jump of
/// the own wall clock shows at the next tick, and that of another with the next probe.
package struct ClusterTime: Sendable {
    private var horizon: TimeHorizon
    /// By how much each member's wall clock is ahead of the monotonic clock here.
    private var leads: [NodeName: Int64] = [:]
    /// The same of the own wall clock, at the last tick.
    private var ownLead: Int64
    /// How far the own clock is ahead of the median; nil while nobody is heard.
    private(set) var offset: Int64?

    init(maxOffsetMilliseconds: UInt64, _ clock: any Clock) {
        horizon = TimeHorizon(maxOffsetMilliseconds: maxOffsetMilliseconds)
        ownLead = ClusterTime.lead(of: clock.wallMilliseconds, clock)
    }

    var current: TimeHorizon { horizon }

    /// The offset with which writes are refused; nil where they are taken.
    var refusedOffset: Int64? {
        guard let offset, offset.magnitude > horizon.maxOffsetMilliseconds else { return nil }
        return offset
    }

    private static func lead(of wall: UInt64, _ clock: any Clock) -> Int64 {
        Int64(clamping: wall) &- Int64(clamping: clock.milliseconds)
    }

    /// A member has answered a probe.
    ///
    /// The error is at most half of the time that the answer took: what took longer than the offset
    /// that is allowed proves nothing.
    ///
    /// - Parameter wall: what its wall clock said meanwhile.
    mutating func note(
        _ name: NodeName, wall: UInt64, rttMilliseconds: UInt64, _ clock: any Clock
    ) {
        guard rttMilliseconds <= max(horizon.maxOffsetMilliseconds, 100) else { return }
        // Both walls are read at the moment; the monotonic clock once a turn, which may be long.
        let ahead = Int64(clamping: wall) &- Int64(clamping: clock.wallMilliseconds)
        leads[name] = ownLead &+ ahead &+ Int64(rttMilliseconds / 2)
    }

    /// Time passes.
    ///
    /// - Parameter heard: the members that this node hears.
    mutating func onTick(barrierRound heard: [NodeName], _ clock: any Clock) {
        ownLead = ClusterTime.lead(of: clock.wallMilliseconds, clock)
        leads = leads.filter { heard.contains($0.key) }
        horizon.clusterLead = ClusterTime.median(of: leads.values.sorted(), and: ownLead)
        offset = horizon.clusterLead.map { ownLead &- $0 }
    }

    /// The median of the others; where they are an even number, of them and the own one.
    private static func median(of leads: [Int64], and own: Int64) -> Int64? {
        guard !leads.isEmpty else { return nil }
        let leads = leads.count % 2 == 1 ? leads : (leads + [own]).sorted()
        return leads[leads.count / 2]
    }
}

extension Node {
    /// Compares the clocks, and says once what is wrong with this one.
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
            ports.host.log(.info, "the clock agrees with the cluster's again; writes are taken")
        default: break
        }
    }

    /// An answer to a probe brought what the member's clock says.
    func noteClock(of name: NodeName, wall: UInt64, rttMilliseconds: UInt64) {
        clusterTime.note(name, wall: wall, rttMilliseconds: rttMilliseconds, ports.clock)
    }

    var wallTime: WallTime { clusterTime.current.wallTime(ports.clock) }

    /// The identity and the time of the next line that writes.
    func nextOperation() -> Stamp { operations.source.next(at: wallTime) }

    /// Passes a time that clients here are shown, where it is believed.
    func observe(_ time: HybridTimestamp) {
        // Mostly it is the time that was given to the last operation.
        guard time != latestTime else { return }
        operations.source.observe(time, at: wallTime)
    }

    /// The time that the next operation is later than.
    var latestTime: HybridTimestamp { operations.source.greatestTime }
}

extension ClusterTime {
    /// What is wrong with a clock that is so far ahead, or behind where that is less than 0.
    package static func sentence(_ offset: Int64) -> String {
        let milliseconds = offset.magnitude
        let amount = milliseconds < 1_000 ? "\(milliseconds) ms" : "\(milliseconds / 1_000) s"
        return "Clock is \(amount) \(offset < 0 ? "behind" : "ahead of") the cluster's"
    }
}
