/// What a run knows of one thing that it asked for: whether it must be there in the end.
enum Claim: Hashable, Sendable {
    case never
    /// Asked for, and not acknowledged, or acknowledged by a disk that was lost since.
    case possible
    /// Acknowledged.
    ///
    /// - Parameter holder: the node whose disk may be the only one that has it; nil: two have it.
    case certain(holder: Int?)

    var isCertain: Bool {
        if case .certain = self { true } else { false }
    }

    mutating func onAttempt() {
        if self == .never { self = .possible }
    }

    /// - Parameter copies: on how many disks it was, by the node's own word; 1 where it said none.
    mutating func onAcknowledged(by node: Int, copies: Int) {
        switch self {
        case .certain(holder: nil): break
        case .certain(let holder) where holder != node: self = .certain(holder: nil)
        default: self = .certain(holder: copies >= 2 ? nil : node)
        }
    }

    /// The disk of this node was lost.
    mutating func onWipe(of node: Int) {
        if self == .certain(holder: node) { self = .possible }
    }
}

/// What a run knows of whether one user has deleted one message for themselves.
///
/// Deleting wins over a restore that has not seen it, so a restore counts only where the node that
/// did it had done every deletion itself. Only one request about a seat is on its way at a time.
struct Seat: Hashable, Sendable {
    enum Standing: Hashable { case shown, hidden, unknown }

    private(set) var standing = Standing.shown
    /// Whether a request is on its way.
    private(set) var isOpen = false
    /// A bit that no node has.
    private static let elsewhere: UInt16 = 1 << 15

    /// The nodes that may have taken a deletion, one bit each.
    private var deletions: UInt16 = 0
    /// The node whose disk alone may hold the standing.
    private var holder: Int?

    /// A request is about to be sent, at once or as soon as there is a connection.
    mutating func onBegin() { isOpen = true }

    mutating func onAttempt(isDeletion: Bool, at node: Int, isRepeat: Bool) {
        if isDeletion {
            deletions |= 1 << UInt16(node)
            // What a killed node did not answer may live on where it had sent it.
            if isRepeat { deletions |= Self.elsewhere }
        }
    }

    mutating func onAcknowledged(isDeletion: Bool, by node: Int) {
        isOpen = false
        if isDeletion {
            standing = .hidden
            holder = node
        } else if deletions == 0 {
            // Restoring what nobody has deleted changes nothing.
        } else if deletions == 1 << UInt16(node), standing == .hidden {
            standing = .shown
            holder = node
        } else {
            standing = .unknown
        }
    }

    /// Refused, but perhaps done by a node that did not answer.
    ///
    /// - Parameter isSure: it was asked of one node only, and that one refused.
    mutating func onRefused(isDeletion: Bool, by node: Int, isSure: Bool) {
        isOpen = false
        if isSure {
            if isDeletion, standing == .shown, holder == nil { deletions = 0 }
        } else if isDeletion ? standing == .shown : standing == .hidden {
            standing = .unknown
        }
    }

    mutating func onWipe(of node: Int) {
        if holder == node { standing = .unknown }
    }
}
