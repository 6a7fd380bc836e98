/// The bits that distinguish the numbers of sessions, by the kind of the session.
///
/// The session number of a client of the line protocol is the number of its connection, without any
/// of these bits. Each other kind of session has its own bit, so that no reply reaches a wrong
/// session.
package enum SessionBit {
    /// A session for a member whose forwarded requests this node executes.
    package static let peer: UInt64 = 1 << 63
    /// A step in the computation of a list of notifications.
    package static let notification: UInt64 = 1 << 62
    /// A query for profiles that an event needs.
    package static let profile: UInt64 = 1 << 61
    /// A step of a request that depends on who has blocked whom.
    package static let blocks: UInt64 = 1 << 59
    /// A request that arrived on the port for apps.
    package static let app: UInt64 = 1 << 60
}
