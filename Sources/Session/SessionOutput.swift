import Admin
import LineProtocol
import Node

/// The destination of a session's responses, and the control of reading from its client.
package protocol SessionOutput: AnyObject, Sendable {
    func write(_ bytes: [UInt8])
    /// Receives the response to a request submitted as a value, in the order of the requests.
    ///
    /// The session calls this method during its work, so the receiver must not call the session.
    ///
    /// - Returns: the number of bytes that were written for the client.
    func receive(_ response: Response) -> Int
    /// The form in which the output writes events.
    var eventForm: EventForm { get }
    /// - Returns: the number of bytes that were written for the client.
    func write(_ events: [ToldEvent]) -> Int
    /// Sends the written bytes now, as far as the network accepts them.
    func flush()
    /// The number of written bytes that the network has not accepted yet.
    var queuedBytes: Int { get }
    func setReadingPaused(_ isPaused: Bool)
    /// Ends the connection after all written bytes have been sent.
    func finish()
    /// Ends the connection at once, without sending the remaining bytes.
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
