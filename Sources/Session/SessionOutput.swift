import Admin
import LineProtocol
import Node

/// The destination of a session's responses, and the control of reading from its client.
package protocol SessionOutput: AnyObject, Sendable {
    func write(_ bytes: [UInt8])
    /// Takes the response to a request that was no line, in the order of the requests.
    ///
    /// It is called while the session works: the receiver asks nothing of the session meanwhile.
    ///
    /// - Returns: the bytes that were written for the client.
    func receive(_ response: Response) -> Int
    /// The form in which events are written.
    var eventForm: EventForm { get }
    /// - Returns: the bytes that were written for the client.
    func write(_ events: [ToldEvent]) -> Int
    /// Sends what was written now, as far as the client takes it.
    func flush()
    /// The number of bytes that the client has not taken yet.
    var queuedBytes: Int { get }
    func setReadingPaused(_ isPaused: Bool)
    /// Ends the connection once everything written has been sent.
    func finish()
    /// Ends the connection at once.
    func abort()
}

extension SessionOutput {
    package var eventForm: EventForm { .line }

    package func write(_ events: [ToldEvent]) -> Int {
        var writer = ReplyWriter(reserving: events.reduce(0) { $0 + $1.count })
        for event in events { event.appendLine(to: &writer) }
        let lines: [UInt8] = writer.removeAll()
        write(lines)
        return lines.count
    }

    package func receive(_ response: Response) -> Int {
        preconditionFailure("a client of lines submits nothing else")
    }
}

/// The output of a session to which requests are submitted as values, and never as lines.
package protocol ValueOutput: SessionOutput {}

extension ValueOutput {
    package func write(_ bytes: [UInt8]) { preconditionFailure("no request here is a line") }
    package func flush() {}
    package var queuedBytes: Int { 0 }
    package func setReadingPaused(_ isPaused: Bool) {}
}
