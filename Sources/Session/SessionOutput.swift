import Admin
import LineProtocol
import Node

/// The destination of a session's responses, and the control of reading from its client.
package protocol SessionOutput: AnyObject, Sendable {
    func write(_ bytes: [UInt8])
    /// Takes the response to a request that was no line, in the order of the requests.
    ///
    /// It is called while the session works: the receiver asks nothing of the session meanwhile.
    func receive(_ response: Response)
    /// The form in which events are written.
    var eventForm: EventForm { get }
    func write(_ events: [ToldEvent])
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

    package func write(_ events: [ToldEvent]) {
        var writer = ReplyWriter(reserving: events.reduce(0) { $0 + $1.count })
        for event in events { event.appendLine(to: &writer) }
        write(writer.removeAll())
    }

    package func receive(_ response: Response) {
        preconditionFailure("a client of lines submits nothing else")
    }
}
