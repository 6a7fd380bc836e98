/// How much may wait for one other node, in bytes.
package struct PeerLimits: Hashable, Sendable {
    /// The most that waits for a slow peer: what comes then is dropped, and the pull repairs it.
    package let queueBytesMax: Int
    /// Below this the queue counts as short: pulls are served, dropped shards are offered.
    package let queueBytesShort: Int
    /// How much of what a node says beside its shards may wait behind those.
    package let controlBytesMax: Int
    /// The most answers to a peer that wait until its queue has room: beyond that it asks another,
    /// and is told so behind them, with as much as `controlBytesMax`.
    package let answerBytesMax: Int
    /// About the most bytes of vectors in one answer, which may be of many shards: what is beyond
    /// goes in front of it.
    package let vectorBytesMax: Int

    package static let standard = PeerLimits(
        queueBytesMax: 8 << 20, queueBytesShort: 512 << 10, controlBytesMax: 1 << 20,
        answerBytesMax: 32 << 20, vectorBytesMax: 1 << 20)

    package init(
        queueBytesMax: Int, queueBytesShort: Int, controlBytesMax: Int, answerBytesMax: Int,
        vectorBytesMax: Int
    ) {
        self.queueBytesMax = queueBytesMax
        self.queueBytesShort = queueBytesShort
        self.controlBytesMax = controlBytesMax
        self.answerBytesMax = answerBytesMax
        self.vectorBytesMax = vectorBytesMax
    }
}
