import Wire

/// What this node has itself seen of another one, none of which travels.
struct Peer: Hashable, Sendable {
    /// Who waits for a sign of life.
    struct ProbeRequester: Hashable, Sendable {
        let name: NodeName
        let number: UInt64
        let until: UInt64
    }

    struct Accusation: Hashable, Sendable {
        let by: NodeName
        let at: UInt64
    }

    /// The most that wait for one member; one more goes without an answer and asks another.
    static let askersMax = 32
    /// How many requests may still be answered.
    static let requestsMax = 4

    /// The last sign of life, on whatever path.
    var heardAt: UInt64
    /// When something last came from it over a link, in milliseconds; nil where nothing has.
    var spokeAt: UInt64?
    /// The process at the other end of the link, while there is one.
    var link: RandomID?
    /// Since when the link is lost and nobody has heard the member.
    var lostAt: UInt64?
    /// The last requests to others to probe it, the newest first.
    var requests: [UInt64] = []
    var requestedAt: UInt64?
    /// When another said that it hears this one, and who that was.
    var indirectAckAt: UInt64?
    var indirectAckFrom: NodeName?
    /// Where in the list of others the next requests begin.
    var helperOffset = 0
    /// The newest, each by another member, at most `LostLink.accusersMax`.
    private(set) var accusations: [Accusation] = []
    private(set) var askers: [ProbeRequester] = []
    var ping: (number: UInt64, at: UInt64)? {
        get { pingNumber.map { ($0, pingedAt) } }
        set { (pingNumber, pingedAt) = (newValue?.number, newValue?.at ?? 0) }
    }
    private var pingNumber: UInt64?
    private var pingedAt: UInt64 = 0
    var rttMilliseconds: UInt64?
    /// Since when this node holds it dead.
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

    /// There was a sign of life, on whatever path.
    mutating func onSign(now: UInt64) {
        heardAt = now
        lostAt = nil
    }

    /// Who still waits for the member to be heard.
    mutating func takeAskers(now: UInt64) -> [ProbeRequester] {
        guard !askers.isEmpty else { return [] }
        defer { askers = [] }
        return askers.filter { now <= $0.until }
    }

    mutating func acquit() { accusations = [] }
}
