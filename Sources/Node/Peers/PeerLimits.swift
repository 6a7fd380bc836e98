import Chat

/// The limits of the bytes that may wait for one other node.
package struct PeerLimits: Hashable, Sendable {
    /// The maximum queue for a slow peer; further replication frames are dropped, and pulled later.
    package let queueBytesMax: Int
    /// The queue size below which pulls are served and dropped shards are offered again.
    package let queueBytesShort: Int
    /// The additional capacity for frames that are not about a shard's replication.
    package let controlBytesMax: Int
    /// The maximum number of bytes of responses that wait until the peer's queue has capacity.
    ///
    /// Beyond this limit a request is refused, so that the peer requests another member; refusals
    /// may use a further `controlBytesMax`.
    package let answerBytesMax: Int
    /// The approximate limit of the vectors in one response.
    ///
    /// A response may concern many shards; further vectors are sent before it.
    package let vectorBytesMax: Int
    /// The approximate size up to which a peer sends its part of a list at once; a larger part
    /// takes several calls.
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
