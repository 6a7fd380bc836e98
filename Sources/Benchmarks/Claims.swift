/// What a run knows of one thing that it asked for: whether it must be there in the end.
enum Claim: Hashable, Sendable {
    case never
    /// Asked for, and not acknowledged, or acknowledged by a disk that was lost since.
    case possible
    /// Acknowledged, and on these disks at the least.
    case certain(Disks)

    enum Disks: Hashable, Sendable {
        case several
        case one(of: Int)
        /// One, and nobody said whose.
        case oneUnknown
    }

    var isCertain: Bool {
        if case .certain = self { true } else { false }
    }

    mutating func onAttempt() {
        if self == .never { self = .possible }
    }

    /// - Parameters:
    ///   - disk: the node on whose disk it is, because it acknowledged it and owns everything; nil
    ///     where it may have had it stored by another.
    ///   - copies: on how many disks it was, by the node's own word; 1 where it said none.
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

    /// The disk of this node was lost.
    mutating func onWipe(of node: Int) {
        if self == .certain(.one(of: node)) || self == .certain(.oneUnknown) { self = .possible }
    }
}

/// What a run knows of one thing that is turned on and off, in any order and on any node.
struct Switch: Hashable, Sendable {
    private(set) var on = Claim.never
    private(set) var off = Claim.never

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

    /// Whether it must be on, or must be off; nil where it was turned both ways.
    var standing: Bool? {
        if on == .never { return false }
        return on.isCertain && off == .never ? true : nil
    }
}

/// What a run knows of whether one user has deleted one message for themselves.
///
/// Deleting wins over a restore that has not seen it, so a restore counts only where the node that
/// did it had done every deletion itself. Only one request about a participant state is on its way
/// at a time.
struct SeatClaims: Hashable, Sendable {
    enum Standing: Hashable { case shown, hidden, unknown }

    private(set) var standing = Standing.shown
    /// Whether a request is on its way.
    private(set) var isOpen = false
    /// A bit that no node has.
    private static let elsewhere: UInt16 = 1 << 15

    /// The nodes that may have taken a deletion, one bit each.
    private var deletions: UInt16 = 0
    /// The disk that alone may hold the standing.
    private var holder: Claim.Disks?

    /// A request is about to be sent, at once or as soon as there is a connection.
    mutating func onBegin() { isOpen = true }

    /// - Parameter disk: as in `Claim.onAcknowledged`.
    mutating func onAttempt(isDeletion: Bool, at disk: Int?, isRepeat: Bool) {
        if isDeletion {
            deletions |= Self.bit(of: disk)
            // What a killed node did not answer may live on where it had sent it.
            if isRepeat { deletions |= Self.elsewhere }
        }
    }

    mutating func onAcknowledged(isDeletion: Bool, by disk: Int?) {
        isOpen = false
        if isDeletion {
            standing = .hidden
            holder = disk.map { .one(of: $0) } ?? .oneUnknown
        } else if deletions == 0 {
            // Restoring what nobody has deleted changes nothing.
        } else if let disk, deletions == Self.bit(of: disk), standing == .hidden {
            standing = .shown
            holder = .one(of: disk)
        } else {
            standing = .unknown
        }
    }

    /// Refused, but perhaps done by a node that did not answer.
    ///
    /// - Parameter isSure: it was asked of one node only, and that one refused.
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

    /// This node hands over what it has, and what it is asked from here on others may do.
    mutating func onLeave(of node: Int) {
        guard deletions & Self.bit(of: node) != 0 else { return }
        deletions = deletions & ~Self.bit(of: node) | Self.elsewhere
    }

    private static func bit(of disk: Int?) -> UInt16 {
        disk.map { 1 << UInt16($0) } ?? elsewhere
    }
}
