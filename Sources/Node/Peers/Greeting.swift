import Wire

/// A connection on which the exchange of hellos is not complete.
struct Greeting: Sendable {
    let channel: any Channel
    /// The address that this side dialled; nil if the other side dialled.
    let dialed: String?
    let since: UInt64
    /// Whether this side has sent a hello that names its cluster.
    var hasNamedCluster: Bool
    /// The hello of a member that is not in the member table on this node's disk yet.
    ///
    /// The node reads nothing more from the connection until the disk has stored the member.
    var unstored: Hello?
    /// Whether any bytes have arrived on the connection.
    var hasSpoken = false
    /// The received bytes that do not make up a whole frame yet.
    var cutter = EnvelopeCutter(payloadBytesMax: Hello.bytesMax)

    /// The time within which the other side has to send its hello, in milliseconds.
    static let patienceMilliseconds: UInt64 = 3_000
    /// The time without a hello after which a dialled connection gets a parallel attempt, in
    /// milliseconds.
    ///
    /// Bytes that were sent into a network cut are lost, and the cut may have healed.
    static let slowMilliseconds: UInt64 = 500
    /// The maximum number of connections without a hello.
    ///
    /// Beyond the maximum, a new connection evicts an inbound one, preferably a silent one.
    static let greetingsMax = 256
    /// The maximum number of bytes of an incomplete hello.
    static let bytesMax = 256 << 10
    /// The maximum size of all incomplete hellos; the connection that exceeds it is closed.
    static let allBytesMax = 8 << 20
    /// The size up to which an incomplete hello is always kept: enough for a cluster of ten nodes.
    static let freeBytes = 4 << 10

    var place: HandshakePlace {
        HandshakePlace(
            id: channel.id, source: channel.source, since: since, hasSpoken: hasSpoken)
    }
}
