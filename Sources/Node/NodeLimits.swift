import Chat
import Membership
import Replication
import Wire

/// The limits of a node, and the node's response when each is exceeded; each entry here is a line
/// of `HELP limits`.
extension Limit {
    /// The limits of a document's size and contents.
    package static let ofDocuments: [Limit] = [
        Limit("participants", ChatLimits.participantsMax, "users of a conversation", "429"),
        Limit("edits", ChatLimits.editsMax, "edits of a message", "429"),
        Limit("devices", ChatLimits.devicesMax, "devices of a user", "429"),
        Limit("blocked", Blocks.countMax, "others whom a user has blocked", "429"),
        Limit(
            "listed-notifications", ListedNotification.countMax, "notifications on a device's list",
            "the rest is listed once some are taken off"),
        Limit(
            "listed-bytes", NotificationCandidate.bytesMax, "bytes of their texts",
            "the rest is listed once some are taken off"),
        Limit(
            "edits-kept", ChatLimits.editsKeptMax,
            "edits that a message keeps of all sides of a cut",
            "the oldest go"),
        Limit(
            "kept-bytes", ChatLimits.keptBytesMax,
            "bytes of a document beside its texts; less with more than 48 nodes", "429"),
        Limit("document-bytes", Document.bytesMax, "bytes", "the frame that brings it is refused"),
        Limit(
            "processes", ShardReplica.replicasMax, "processes that have written to a shard",
            "503 for the next process"),
    ]

    /// The limits of waiting requests and of queued data.
    package static let ofWaiting: [Limit] = [
        Limit(
            "disk-queue-bytes", Node.storeBytesMax, "bytes",
            "nothing is read from clients and peers until half of it is stored"),
        Limit(
            "rewritten-bytes", Rewriting.bytesMax, "bytes of documents that changes rewrite",
            "the same"),
        Limit("forwards", Forwards.countMax, "requests that wait for other nodes", "503"),
        Limit("forward-bytes", Forwards.bytesMax, "bytes of them", "503"),
        Limit(
            "answer-parts", Forwards.partsHeldMax, "parts of 256 KiB of other nodes' answers",
            "503, or partial=true"),
        Limit(
            "pending-responses", PendingResponse.countMax,
            "requests of other nodes that wait for the disk",
            "they ask another"),
        Limit(
            "list-calls", ShardCall.countMax, "lists that wait for other nodes",
            "partial=true"),
        Limit(
            "lists-without-memory", LargeLists.wholesMax,
            "lists of several turns that wait for memory", "503"),
        Limit(
            "notification-requests", NotificationRequest.countMax, "NOTIFICATIONS under way",
            "503"),
        Limit(
            "replica-count-calls", CopiesCall.countMax, "WAITs that wait for other nodes",
            "counted a moment later"),
        Limit(
            "read-barriers", ReadBarrier.countMax,
            "connections' shards that wait for a replica to catch up",
            "they wait for the others"),
        Limit(
            "catch-ups", CatchUp.countMax, "replicas that catch up with a connection",
            "another is asked"),
        Limit(
            "watchers", Subscriptions.watchersMax, "connections that watch", "429"),
        Limit(
            "typing", Typing.ofConnectionMax, "conversations where one connection types", "429"),
        Limit(
            "typing-all", Typing.ofNodeMax, "conversations where clients of one node type", "429"),
        Limit("joins", Node.joinsMax, "addresses that have not answered", "429"),
    ]

    /// The limits of connections and frames between nodes, and of the cluster.
    package static let ofPeers: [Limit] = [
        Limit(
            "peer-queue-bytes", PeerLimits.standard.queueBytesMax, "bytes for each peer",
            "dropped; a pull fetches it later"),
        Limit(
            "peer-control-bytes", PeerLimits.standard.controlBytesMax, "bytes behind those",
            "dropped and said again"),
        Limit(
            "peer-answer-bytes", PeerLimits.standard.answerBytesMax, "bytes for each peer",
            "it asks another"),
        Limit(
            "peer-refusal-bytes", PeerLimits.standard.controlBytesMax,
            "bytes of refusals behind those", "the connection is closed"),
        Limit(
            "frame-bytes", Envelope.plainBytesMax, "bytes", "the frame is refused"),
        Limit(
            "document-frame-bytes", Envelope.payloadBytesMax, "bytes of a frame with one document",
            "the connection is closed"),
        Limit(
            "unfinished-frame-bytes", Node.unfinishedBytesMax,
            "bytes of frames that are not whole, of all members", "the connection is closed"),
        Limit("pull-batch-bytes", Scan.batchBytesMax, "bytes", "the rest is in the next batch"),
        Limit(
            "greetings", Greeting.greetingsMax, "connections that have not said hello",
            "the next is closed"),
        Limit("hello-bytes", Greeting.bytesMax, "bytes", "the connection is closed"),
        Limit("members", MemberTable.ringMax, "nodes of a cluster", "the next is not taken in"),
        Limit(
            "member-entries", MemberTable.entriesMax, "nodes, those that left too",
            "the oldest that left is forgotten"),
        Limit("shards", ClusterSettings.shardsMax, "shards of a cluster", "exit status 64"),
    ]

    /// All limits of the node.
    package static let ofTheNode = ofDocuments + ofWaiting + ofPeers
}

extension Node {
    /// The limits that the process has in addition to those of its node.
    package var hostLimits: [Limit] { ports.host.limits }
}
