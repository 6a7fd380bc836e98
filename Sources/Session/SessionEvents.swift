import Node

/// The events that a session sends its client.
extension Session {
    /// Whether the client's input has ended and all of its requests are answered.
    var isOver: Bool { isEnding && hasCutEnd && ring.isEmpty && !hasBacklog }

    /// Whether an event may be written: no reply is partly sent, and the last `WATCH` is answered.
    var mayTell: Bool { headSent == 0 && waiting.mayLeave(before: ring.headNumber) }

    /// - Returns: true if too many bytes of events wait for the client.
    func tell(_ event: WatchedEvent, _ token: String?) -> Bool {
        guard !hasFinished, !isOver else { return false }
        written += UInt64(waiting.appendEvent(event, token, mayLeave: mayTell))
        noteHeld()
        // A client that resumes with its last token gets the dropped events.
        let isSpent = memory?.assumeIsolated { $0.isSpent } ?? false
        let bytesMax = isSpent ? SessionLimits.freeBytes : SessionLimits.eventBytesMax
        guard waiting.bytesUntaken < bytesMax else {
            abort()
            return false
        }
        return noteFull()
    }

    func sendEvents() { written += UInt64(waiting.send(mayLeave: mayTell)) }

    /// Returns whether too many bytes wait for the client, and disconnects a client for which this
    /// was so for too long.
    ///
    /// A disconnected client can resume with its last token.
    func noteFull() -> Bool {
        guard !hasFinished else { return false }
        let pace = waiting.pace(isEnding: isOver, now: clock.milliseconds)
        if pace == .tooLittleForLong { abort() }
        return pace == .tooLittle
    }

    /// Ends the connection at once and drops all events that wait for the client.
    func abort() {
        hasFinished = true
        waiting.removeAll()
        memory?.assumeIsolated { [id] in $0.removeSession(id) }
        output.abort()
    }
}
