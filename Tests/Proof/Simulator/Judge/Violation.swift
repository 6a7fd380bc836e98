/// The invariants of the project, each with its number and a sentence.
package enum Invariant: String, CaseIterable, Sendable {
    case kept = "I1 every acknowledged write is kept"
    case deleted = "I2 what was seen deleted is never seen again"
    case equal = "I3 replicas are equal after the heal"
    case oneDot = "I4 one dot, one byte string"
    case badRecord = "I5 bad records are never applied, shown or sent"
    case reads = "I6 shown is on disk, and stays"
    case judgedOnce = "I7 a rule was judged once, and holds everywhere"
    case bounded = "I8 every queue within its limit"
    case quiet = "I9 level within a second, and then no pull"
    case index = "I10 every index equals a recomputation"
    case claims = "I11 what a vector claims is in the state"
    case typing = "I12 typing never outlives its connection by more than its time"
    case oneChange = "I13 one client id, one message; a repeated request is one change"
    case stamps = "I14 a node's stamps never go back"
    case oneView = "M1 living members share one view within a second of the heal"
    case seenDead = "M2 who is gone is dead to the others in time"
    case noFalseDeath = "M3 a short pause, a reset or a partial cut makes nobody dead"
    case incarnations = "M4 a member's own incarnation never falls"
    case gossipBounds = "M5 gossip and tables within their bounds"
    case twins = "M6 a twin is told apart from an older life"
    case eviction = "M7 only who has heard a majority for long enough evicts anybody"
    case formed = "W1 nodes that are told of each other form a cluster"
    case running = "W2 a node goes on running"
    case answered = "W3 each request has one answer, in order, in time"
    case sound = "W4 an answer says what its request asked for"
    case level = "W5 nodes are level after the heal, in time"
    case placed = "W6 level nodes hold the shards that they own, and no others"
    case same = "W7 one seed gives one run"
    case times = "W9 a wrong clock moves no other, and not its own once it is corrected"
    case cause = "W8 an answer is told behind what it answers"

    /// The number of the invariant, such as `I1`.
    package var number: Substring { rawValue.prefix { $0 != " " } }
}

/// An invariant that does not hold, with an explanation of where it failed.
package struct Violation: Error, Hashable, Sendable {
    package let invariant: Invariant
    package let explanation: String
}
