/// The bits that distinguish the numbers of sessions, by what the sessions stand for.
///
/// The number of a client of the line protocol is that of its connection and has none of them. Each
/// kind has a bit of its own, so that no reply reaches a session of another kind.
package enum SessionBit {
    /// A member whose forwarded requests this node executes.
    package static let peer: UInt64 = 1 << 63
    /// A step of a list of notifications.
    package static let notification: UInt64 = 1 << 62
    /// A question for profiles that an event needs.
    package static let profile: UInt64 = 1 << 61
    /// A step of a request that depends on who has blocked whom.
    package static let blocks: UInt64 = 1 << 59
    /// A request of the port for apps.
    package static let app: UInt64 = 1 << 60
}
