/// The knowledge about one requested change: whether it must exist at the end.
enum Certainty: Hashable, Sendable {
    case never
    /// Requested, but not acknowledged, or acknowledged on a disk that was lost since.
    case possible
    /// Acknowledged, and at least on these disks.
    case certain(Disks)

    enum Disks: Hashable, Sendable {
        case several
        case one(of: Int)
        /// One disk of an unknown node.
        case oneUnknown
    }

    var isCertain: Bool {
        if case .certain = self { true } else { false }
    }

    mutating func onAttempt() {
        if self == .never { self = .possible }
    }

    /// - Parameters:
    ///   - disk: the node whose disk has it, because it acknowledged it and owns every shard; nil
    ///     if another node may have stored it.
    ///   - copies: the number of disks that have it, as the node stated; 1 if it stated none.
    mutating func onAcknowledged(by disk: Int?, copies: Int) {
        switch (self, disk) {
        case _ where copies >= 2, (.certain(.several), _): self = .certain(.several)
        case (.certain(.one(let holder)), let disk?) where holder != disk:
            self = .certain(.several)
        case (_, let disk?): self = .certain(.one(of: disk))
        case (.certain(.one), nil): break
        case (_, nil): self = .certain(.oneUnknown)
        }
    }

    /// Records the loss of this node's disk.
    mutating func onWipe(of node: Int) {
        if self == .certain(.one(of: node)) || self == .certain(.oneUnknown) { self = .possible }
    }
}

/// The knowledge about a state that is turned on and off, in any order and on any node.
struct Switch: Hashable, Sendable {
    private(set) var on = Certainty.never
    private(set) var off = Certainty.never

    mutating func onAttempt(_ isOn: Bool) {
        if isOn { on.onAttempt() } else { off.onAttempt() }
    }

    mutating func onAcknowledged(_ isOn: Bool, by disk: Int?, copies: Int) {
        if isOn {
            on.onAcknowledged(by: disk, copies: copies)
        } else {
            off.onAcknowledged(by: disk, copies: copies)
        }
    }

    mutating func onWipe(of node: Int) {
        on.onWipe(of: node)
        off.onWipe(of: node)
    }

    /// Whether it must be on (true) or off (false); nil if it was turned both ways.
    var standing: Bool? {
        if on == .never { return false }
        return on.isCertain && off == .never ? true : nil
    }
}

/// The knowledge about whether one user has deleted one message for themselves.
///
/// A deletion wins over a restore that has not seen it; so a restore counts only if the node that
/// executed it had executed every deletion itself. Only one request about the participant state is
/// in flight at a time.
struct OwnDeletion: Hashable, Sendable {
    enum Standing: Hashable { case shown, hidden, unknown }

    private(set) var standing = Standing.shown
    /// Whether a request is in flight.
    private(set) var isOpen = false
    /// A bit that stands for no particular node.
    private static let elsewhere: UInt16 = 1 << 15

    /// The nodes that may have executed a deletion, one bit each.
    private var deletions: UInt16 = 0
    /// The only disk that may hold the standing.
    private var holder: Certainty.Disks?

    /// Records that a request will be sent, at once or as soon as there is a connection.
    mutating func onBegin() { isOpen = true }

    /// - Parameter disk: as in `Certainty.onAcknowledged`.
    mutating func onAttempt(isDeletion: Bool, at disk: Int?, isRepeat: Bool) {
        if isDeletion {
            deletions |= Self.bit(of: disk)
            // A request that a killed node did not answer may have been executed by another node.
            if isRepeat { deletions |= Self.elsewhere }
        }
    }

    mutating func onAcknowledged(isDeletion: Bool, by disk: Int?) {
        isOpen = false
        if isDeletion {
            standing = .hidden
            holder = disk.map { .one(of: $0) } ?? .oneUnknown
        } else if deletions == 0 {
            // A restore without any deletion changes nothing.
        } else if let disk, deletions == Self.bit(of: disk), standing == .hidden {
            standing = .shown
            holder = .one(of: disk)
        } else {
            standing = .unknown
        }
    }

    /// Records a refusal; an earlier node that did not answer may have executed the request.
    ///
    /// - Parameter isSure: whether it was sent to one node only, and that one refused.
    mutating func onRefused(isDeletion: Bool, isSure: Bool) {
        isOpen = false
        if isSure {
            if isDeletion, standing == .shown, holder == nil { deletions = 0 }
        } else if isDeletion ? standing == .shown : standing == .hidden {
            standing = .unknown
        }
    }

    mutating func onWipe(of node: Int) {
        if holder == .one(of: node) || holder == .oneUnknown { standing = .unknown }
    }

    /// Records that this node hands over its shards: other nodes may execute its later requests.
    mutating func onLeave(of node: Int) {
        guard deletions & Self.bit(of: node) != 0 else { return }
        deletions = deletions & ~Self.bit(of: node) | Self.elsewhere
    }

    private static func bit(of disk: Int?) -> UInt16 {
        disk.map { 1 << UInt16($0) } ?? elsewhere
    }
}
