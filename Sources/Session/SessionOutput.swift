/// The destination of a session's replies, and the control of reading from its client.
package protocol SessionOutput: AnyObject, Sendable {
    func write(_ bytes: [UInt8])
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
