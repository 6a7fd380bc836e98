/// What must hold in every run, by the numbers of the project's list.
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
    case oneChange = "I13 one client id, one message; a repeated request is one change"
    case stamps = "I14 a node's stamps never go back"
    case oneView = "M1 living members share one view within a second of the heal"
    case seenDead = "M2 who is gone is dead to the others in time"
    case noFalseDeath = "M3 a short pause, a reset or a partial cut makes nobody dead"
    case incarnations = "M4 a member's own incarnation never falls"
    case gossipBounds = "M5 gossip and tables within their bounds"
    case twins = "M6 a twin is told apart from an older life"

    /// Its number in the list, such as `I1`.
    package var number: Substring { rawValue.prefix { $0 != " " } }
}

/// An invariant that does not hold, and where it was seen.
package struct Violation: Error, Hashable, Sendable {
    package let invariant: Invariant
    package let explanation: String
}
