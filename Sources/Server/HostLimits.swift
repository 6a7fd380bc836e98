/// The numbers of connections that a process accepts, so that it never runs out of descriptors.
///
/// Descriptors go first to the database and the loop, then to other nodes, then to clients.
package struct HostLimits: Hashable, Sendable {
    /// The most clients at once; a further one is answered 429 and closed.
    package static let clientsMax = 10_000
    /// The most connections that others dialled to the port for nodes; a further one is closed.
    ///
    /// It suffices for unauthenticated connections and for twice the members of a cluster.
    package static let inboundPeersMax = 512
    /// The most connections that are told why they are closed and have not closed their side; a
    /// further one is closed without a reason.
    package static let lingeringClosesMax = 128
    /// The bytes from which on a piece of freed memory goes back to the system, so that the memory
    /// of an unusually long reply is not kept for ever.
    package static let largeMemoryBytes: Int32 = 4 << 20
    /// The descriptors for the database, the loop, the log and the dials to members.
    package static let descriptorsReserved = 24
    /// The share of the other descriptors, an eighth, for other nodes, and as many for lingering
    /// closes.
    private static let peersShare = 8

    /// The share of the clients' places that apps do not take, a sixteenth.
    private static let linesShare = 16

    package let clients: Int
    /// The most clients of the port for apps; the other places are those of the line port.
    package let appClients: Int
    package let inboundPeers: Int
    package let lingeringCloses: Int

    /// - Parameter descriptors: the number that the process may open.
    package init(descriptors: Int) {
        let free = max(8, descriptors - HostLimits.descriptorsReserved)
        let share = max(2, free / HostLimits.peersShare)
        inboundPeers = min(HostLimits.inboundPeersMax, share)
        lingeringCloses = min(HostLimits.lingeringClosesMax, share)
        // As many again for dials to members.
        clients = min(
            HostLimits.clientsMax, max(4, free - 2 * inboundPeers - lingeringCloses))
        appClients = clients - max(1, clients / HostLimits.linesShare)
    }
}
