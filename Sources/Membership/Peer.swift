import Wire

/// The observations of one other member that this node made itself; none of them is gossiped.
struct Peer: Hashable, Sendable {
    /// A member that waits for a sign of life.
    struct ProbeRequester: Hashable, Sendable {
        let name: NodeName
        let number: UInt64
        let until: UInt64
    }

    struct Accusation: Hashable, Sendable {
        let by: NodeName
        let at: UInt64
    }

    /// The greatest number of members that wait for one member; a further one gets no answer and
    /// asks another member.
    static let askersMax = 32
    /// The number of requests that may still be answered.
    static let requestsMax = 4

    /// The time of the last sign of life, directly or through another member, in milliseconds.
    var heardAt: UInt64
    /// When a frame last came from the member over a connection, in milliseconds; nil before the
    /// first.
    var spokeAt: UInt64?
    /// The process at the other end of the connection; nil without a connection.
    var link: RandomID?
    /// The time since which the connection is lost and no other member has heard this one; nil
    /// otherwise.
    var lostAt: UInt64?
    /// The numbers of the last requests to other members to probe this one, newest first.
    var requests: [UInt64] = []
    var requestedAt: UInt64?
    /// When another member last reported that it hears this one, and which member that was.
    var indirectAckAt: UInt64?
    var indirectAckFrom: NodeName?
    /// The index in the list of other members at which the next requests begin.
    var helperOffset = 0
    /// The newest accusations, each by another member, at most `LostLink.accusersMax`.
    private(set) var accusations: [Accusation] = []
    private(set) var askers: [ProbeRequester] = []
    var ping: (number: UInt64, at: UInt64)? {
        get { pingNumber.map { ($0, pingedAt) } }
        set { (pingNumber, pingedAt) = (newValue?.number, newValue?.at ?? 0) }
    }
    private var pingNumber: UInt64?
    private var pingedAt: UInt64 = 0
    var rttMilliseconds: UInt64?
    /// The time since which this node considers the member dead.
    var deadSince: UInt64?
    var toldAt: UInt64?
    var tableSentAt: UInt64?

    init(now: UInt64) { heardAt = now }

    mutating func confirmSuspicion(by name: NodeName, now: UInt64) {
        accusations.removeAll { $0.by == name }
        accusations.append(Accusation(by: name, at: now))
        if accusations.count > LostLink.accusersMax { accusations.removeFirst() }
    }

    func accusationCount(now: UInt64) -> Int {
        accusations.count { now - min(now, $0.at) <= Timing.accusationHolds }
    }

    mutating func await(_ asker: ProbeRequester) {
        askers.removeAll { $0.name == asker.name }
        if askers.count < Peer.askersMax { askers.append(asker) }
    }

    /// Records a sign of life, directly or through another member.
    mutating func onSign(now: UInt64) {
        heardAt = now
        lostAt = nil
    }

    /// Removes and returns the members that still wait for a sign of life.
    mutating func takeAskers(now: UInt64) -> [ProbeRequester] {
        guard !askers.isEmpty else { return [] }
        defer { askers = [] }
        return askers.filter { now <= $0.until }
    }

    mutating func acquit() { accusations = [] }
}
