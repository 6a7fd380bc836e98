/// The numbers and sizes of the waiting work of a node at one moment, to compare with its limits.
package struct NodeLoad: Sendable {
    /// The bytes that wait for one other node.
    package struct PeerSync: Sendable {
        /// The number of bytes of frames to send, queued in this node and in the network layer.
        package let queuedBytes: Int
        /// The number of bytes of responses that wait until the queue has space.
        package let answerBytes: Int
        /// The size of the largest frame sent to the node so far, in bytes.
        package let largestFrame: Int
    }

    package let links: [PeerSync]
    /// The number of connections that other nodes dialled and that have no hello yet.
    package let greetings: Int
    /// The number of clients' requests that wait for an answer of another member.
    package let forwards: Int
    package let forwardBytes: Int
    /// The number of responses that wait for commits.
    package let pendingResponses: Int
    /// The number of lists that are being collected from several shards.
    package let scatterGathers: Int
    /// The number of replies that wait until enough owners have stored their writes.
    package let waits: Int
    /// The number of unanswered requests to members for lists and for numbers of owners.
    package let asks: Int

    package static let greetingsMax = Greeting.greetingsMax
    package static let forwardsMax = Forwards.countMax
    package static let forwardBytesMax = Forwards.bytesMax
    package static let pendingResponsesMax = PendingResponse.countMax

    /// Whether no request waits in this node.
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
