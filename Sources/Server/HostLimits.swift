/// How many connections a process takes, so that it never runs out of descriptors.
///
/// Descriptors come first to the database and the loop, then to other nodes, then to clients.
package struct HostLimits: Hashable, Sendable {
    /// The most clients at once; the next is told so (429) and closed.
    package static let clientsMax = 10_000
    /// The most connections that others dialled to the port for nodes; the next is closed.
    ///
    /// Strangers who have not said hello, and twice the members of a ring.
    package static let inboundPeersMax = 512
    /// The most connections that are told why they are closed and have not closed their side; one
    /// more is closed without a word.
    package static let lingeringClosesMax = 128
    /// Pieces of memory from this size on go back to the system when they are free, in bytes: the
    /// reply that was long once is not held for ever.
    package static let largeMemoryBytes: Int32 = 4 << 20
    /// What the database, the loop, the log and the dials to members need of the descriptors.
    package static let descriptorsReserved = 24
    /// An eighth of the other descriptors is for other nodes, and as many for farewells.
    private static let peersShare = 8

    package let clients: Int
    package let inboundPeers: Int
    package let lingeringCloses: Int

    /// - Parameter descriptors: how many the process may open.
    package init(descriptors: Int) {
        let free = max(8, descriptors - HostLimits.descriptorsReserved)
        let share = max(2, free / HostLimits.peersShare)
        inboundPeers = min(HostLimits.inboundPeersMax, share)
        lingeringCloses = min(HostLimits.lingeringClosesMax, share)
        // As many again for dials to members.
        clients = min(
            HostLimits.clientsMax, max(4, free - 2 * inboundPeers - lingeringCloses))
    }
}
