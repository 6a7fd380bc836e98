import Chat

/// The limits on what may wait for one other node, in bytes.
package struct PeerLimits: Hashable, Sendable {
    /// The most that waits for a slow peer: further replication frames are dropped, and pulls
    /// repair that.
    package let queueBytesMax: Int
    /// Below this the queue counts as short: pulls are served, and dropped shards are offered.
    package let queueBytesShort: Int
    /// The additional capacity for frames that are not about a shard's replication.
    package let controlBytesMax: Int
    /// The most responses that wait until the peer's queue has capacity.
    ///
    /// A request beyond that is refused, so that the peer asks another member; refusals may take
    /// another `controlBytesMax`.
    package let answerBytesMax: Int
    /// The approximate limit of the vectors in one response, which may be about many shards: the
    /// others are sent ahead of it.
    package let vectorBytesMax: Int
    /// The approximate size up to which a peer sends its part of a list at once; for a larger one
    /// it is called again.
    package let listBytesMax: Int

    package static let standard = PeerLimits(
        queueBytesMax: 8 << 20, queueBytesShort: 512 << 10, controlBytesMax: 1 << 20,
        answerBytesMax: 32 << 20, vectorBytesMax: 1 << 20)

    package init(
        queueBytesMax: Int, queueBytesShort: Int, controlBytesMax: Int, answerBytesMax: Int,
        vectorBytesMax: Int, listBytesMax: Int = AnyFindings.partBytesMax
    ) {
        self.queueBytesMax = queueBytesMax
        self.queueBytesShort = queueBytesShort
        self.controlBytesMax = controlBytesMax
        self.answerBytesMax = answerBytesMax
        self.vectorBytesMax = vectorBytesMax
        self.listBytesMax = listBytesMax
    }
}
