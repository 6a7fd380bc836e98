/// Something that goes wrong at a given moment of the chaos, and for how long.
package struct Fault: Hashable, Sendable {
    package enum Kind: String, CaseIterable, Sendable {
        /// `kill -9` of `node`, started again after `amount` milliseconds.
        case crash
        /// `kill -9` of every node at once.
        case crashAll = "crash-all"
        /// Killed, and its disk emptied: it comes back under the same name with nothing.
        case wipe
        /// Its disk is copied aside, for a `restore` to come.
        case snapshot
        /// Killed, and the copy of its disk put back.
        case restore
        /// Killed, and its disk replaced by a copy of `other`'s.
        case clone
        /// `SIGSTOP` for `amount` milliseconds.
        case pause
        /// No frame between `node` and `other`, either way.
        case cut
        /// No frame from `node` to `other`; the other way works.
        case cutOneWay = "cut-one-way"
        /// Cut from everybody.
        case isolate
        /// The connection between the two breaks, with all that is in flight.
        case reset
        /// Frames between the two take up to seconds.
        case slow
        /// Between the two, one frame is under way at a time: queues fill.
        case narrow
        /// The wall clock of `node` jumps by `amount` milliseconds, either way.
        case clockJump = "clock-jump"
        /// The wall clock stands still.
        case clockFreeze = "clock-freeze"
        /// The wall clock says 1970.
        case clockZero = "clock-1970"
        /// The wall clock says 2100.
        case clockFuture = "clock-2100"
        /// Commits fail.
        case diskFull = "disk-full"
        /// Commits take half a second.
        case diskSlow = "disk-slow"
        /// A byte of a stored document flips; `other` says of which.
        case flip
        /// A row of the index flips; `other` says of which document.
        case flipIndex = "flip-index"
        /// It comes for the first time, with an empty disk.
        case join
        /// It hands everything over and goes; after `amount` milliseconds it comes back.
        case leave
        /// The others give its shards away, and after `amount` milliseconds back.
        case evict
    }

    /// Milliseconds since the run began.
    package let at: UInt64
    package let kind: Kind
    package let node: Int
    package let other: Int
    /// Mostly how long it lasts, in milliseconds.
    package let amount: Int

    /// Whether `other` is no node.
    var isFlip: Bool { kind == .flip || kind == .flipIndex }

    package init(at: UInt64, _ kind: Kind, node: Int = 0, other: Int = 0, amount: Int = 0) {
        self.at = at
        self.kind = kind
        self.node = node
        self.other = other
        self.amount = amount
    }
}
