import Node

/// The events that a session sends its client.
extension Session {
    /// Whether the client's input has ended and all of its requests are answered.
    var isOver: Bool { isEnding && hasCutEnd && ring.isEmpty && !hasBacklog }

    /// Whether an event may be written at this point, which is not inside a reply.
    var mayTell: Bool { headSent == 0 && waiting.mayLeave(before: ring.headNumber) }

    /// - Returns: whether the client is full.
    func tell(_ event: WatchedEvent, _ token: String?) -> Bool {
        guard !hasFinished, !isOver else { return false }
        written += UInt64(waiting.appendEvent(event, token, mayLeave: mayTell))
        noteHeld()
        // A client that resumes with its last token gets the rest.
        let isSpent = memory?.assumeIsolated { $0.isSpent } ?? false
        let bytesMax = isSpent ? SessionLimits.freeBytes : SessionLimits.eventBytesMax
        guard waiting.bytesUntaken < bytesMax else {
            abort()
            return false
        }
        return noteFull()
    }

    func sendEvents() { written += UInt64(waiting.send(mayLeave: mayTell)) }

    /// Notes whether the client is full, and disconnects one that has been so for too long: its
    /// last token resumes.
    func noteFull() -> Bool {
        guard !hasFinished else { return false }
        let pace = waiting.pace(isEnding: isOver, now: clock.milliseconds)
        if pace == .tooLittleForLong { abort() }
        return pace == .tooLittle
    }

    /// Ends the connection at once and drops all that waits for its client.
    func abort() {
        hasFinished = true
        waiting.removeAll()
        memory?.assumeIsolated { [id] in $0.removeSession(id) }
        output.abort()
    }
}
