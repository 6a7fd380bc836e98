/// What waits in a node at one moment, for whoever watches its limits.
package struct NodeLoad: Sendable {
    /// What waits for one other node.
    package struct PeerSync: Sendable {
        /// In the node and in the network's queue.
        package let queuedBytes: Int
        package let answerBytes: Int
        /// The most bytes that one frame had.
        package let largestFrame: Int
    }

    package let links: [PeerSync]
    /// Connections that others dialled and have not said hello on.
    package let greetings: Int
    /// Requests of clients that others are to answer.
    package let forwards: Int
    package let forwardBytes: Int
    /// Replies that wait for disks.
    package let pendingResponses: Int
    /// Lists and counts of copies that wait for others, and what those were asked.
    package let scatterGathers: Int
    package let waits: Int
    package let asks: Int

    package static let greetingsMax = Greeting.greetingsMax
    package static let forwardsMax = Forwards.countMax
    package static let forwardBytesMax = Forwards.bytesMax
    package static let pendingResponsesMax = PendingResponse.countMax

    /// Whether nobody waits for anything.
    package var isIdle: Bool {
        forwards == 0 && forwardBytes == 0 && pendingResponses == 0 && scatterGathers == 0
            && waits == 0
            && asks == 0
    }
}

extension Node {
    package var load: NodeLoad {
        NodeLoad(
            links: links.ascending.map(\.load),
            greetings: greetings.values.count { $0.dialed == nil },
            forwards: forwards.count, forwardBytes: forwards.bytes,
            pendingResponses: pendingResponses.count,
            scatterGathers: scatterGathers.count, waits: waits.count,
            asks: shardCalls.count + copyCalls.count)
    }
}
