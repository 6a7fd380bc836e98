import Wire

/// A connection on which the other side has not said hello yet.
struct Greeting: Sendable {
    let channel: any Channel
    /// The address that was dialled; nil where the other side dialled.
    let dialed: String?
    let since: UInt64
    /// Whether this side has sent a hello that names its cluster.
    var hasNamedCluster: Bool
    /// The hello of a member that this node's disk does not have in its member table yet; nothing
    /// more is read from the connection until the disk has it.
    var unstored: Hello?
    /// Whether anything has arrived on it.
    var hasSpoken = false
    /// Bytes received that do not make up a whole frame yet.
    var cutter = EnvelopeCutter(payloadBytesMax: Hello.bytesMax)

    /// How long the other side may take to say hello, in milliseconds.
    static let patienceMilliseconds: UInt64 = 3_000
    /// How long a dialled connection may stay without a hello before another is tried beside it, in
    /// milliseconds: what was sent into a cut is lost, and the cut may be healed.
    static let slowMilliseconds: UInt64 = 500
    /// The most connections without a hello.
    ///
    /// When there are more, an inbound one is evicted for the next, a silent one first.
    static let greetingsMax = 256
    /// The most bytes of an incomplete hello.
    static let bytesMax = 256 << 10
    /// The most bytes of all incomplete hellos: the connection that exceeds it is closed.
    static let allBytesMax = 8 << 20
    /// The bytes of an incomplete hello that are kept in any case: enough for a cluster of ten
    /// nodes.
    static let freeBytes = 4 << 10

    var place: HandshakePlace {
        HandshakePlace(
            id: channel.id, source: channel.source, since: since, hasSpoken: hasSpoken)
    }
}
