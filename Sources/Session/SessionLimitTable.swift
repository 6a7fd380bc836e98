import Node

extension SessionLimits {
    /// The limits of a client's connection; each limit is one line of the reply to `HELP limits`.
    static let all: [Limit] = [
        Limit(
            "unsent-replies", slotsMax, "replies",
            "no more lines are read from that connection until some have left"),
        Limit(
            "unsent-reply-bytes", replyBytesMax, "bytes",
            "no more lines are read from that connection until some have left"),
        Limit(
            "turn-lines", linesPerTurnMax, "lines in a turn, shared by all connections",
            "the others have their turn first"),
        Limit(
            "held-bytes-free", freeBytes, "bytes of a connection", "what is more is counted"),
        Limit(
            "held-bytes-tight", heldBytesTight, "bytes of all connections",
            "who holds more than is free and stands still is let go"),
        Limit(
            "held-bytes", heldBytesMax, "bytes of all connections",
            "lists wait for room; a long line that has not ended is 503"),
        Limit(
            "held-bytes-light", heldBytesOfLight,
            "bytes beyond those, of users who hold \(lightBytesMax) at most",
            "their lists wait for room, too"),
        Limit(
            "watcher-bytes", eventBytesFull, "bytes that a client which watches has not taken",
            "closed after \(fullMillisecondsMax) ms of it; its last token resumes"),
        Limit(
            "watcher-bytes-all", eventBytesMax, "bytes that a client which watches has not taken",
            "closed at once; its last token resumes"),
        Limit(
            "standing-still", stalledMillisecondsMax, "milliseconds while memory is tight",
            "closed, or 503 for a line that has not ended"),
    ]
}
