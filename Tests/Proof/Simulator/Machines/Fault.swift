/// A fault at a given moment of the chaos, with its duration.
package struct Fault: Hashable, Sendable {
    package enum Kind: String, CaseIterable, Sendable {
        /// `kill -9` of `node`; it starts again after `amount` milliseconds.
        case crash
        /// `kill -9` of every node at once.
        case crashAll = "crash-all"
        /// The process is killed and its disk emptied; the node returns under the same name.
        case wipe
        /// The disk is copied aside for a later `restore`.
        case snapshot
        /// The process is killed and its disk replaced by the copy that `snapshot` made.
        case restore
        /// The process is killed and its disk replaced by a copy of `other`'s.
        case clone
        /// `SIGSTOP` for `amount` milliseconds.
        case pause
        /// No frame passes between `node` and `other`, in either direction.
        case cut
        /// No frame passes from `node` to `other`; the other direction works.
        case cutOneWay = "cut-one-way"
        /// The node is cut off from all others.
        case isolate
        /// The connection between the two nodes breaks; all frames in flight are lost.
        case reset
        /// Frames between the two nodes take up to seconds.
        case slow
        /// From `node` to `other`, one frame at a time is in flight, so that queues fill.
        case narrow
        /// The wall clock of `node` jumps by `amount` milliseconds, either way.
        case clockJump = "clock-jump"
        /// The wall clock stops.
        case clockFreeze = "clock-freeze"
        /// The wall clock shows 1970.
        case clockZero = "clock-1970"
        /// The wall clock shows 2100.
        case clockFuture = "clock-2100"
        /// Commits fail.
        case diskFull = "disk-full"
        /// Commits take half a second.
        case diskSlow = "disk-slow"
        /// A byte of a stored document flips; `other` selects the document.
        case flip
        /// A row of the index flips; `other` selects the document that it belongs to.
        case flipIndex = "flip-index"
        /// The node joins the cluster for the first time, with an empty disk.
        case join
        /// The node hands over its shards and stops; after `amount` milliseconds it returns.
        case leave
        /// The node is no member any more for `amount` milliseconds, while its process runs on.
        case evict
    }

    /// Milliseconds since the run began.
    package let at: UInt64
    package let kind: Kind
    package let node: Int
    package let other: Int
    /// Milliseconds: how long the fault lasts, or, for `clockJump`, how far the clock jumps.
    package let amount: Int

    /// Whether `other` selects a document and not a node.
    var isFlip: Bool { kind == .flip || kind == .flipIndex }

    package init(at: UInt64, _ kind: Kind, node: Int = 0, other: Int = 0, amount: Int = 0) {
        self.at = at
        self.kind = kind
        self.node = node
        self.other = other
        self.amount = amount
    }
}
