/// Where a session's replies go, and what slows its client down.
package protocol SessionOutput: AnyObject, Sendable {
    func write(_ bytes: [UInt8])
    /// Has what was written leave now, as far as the client takes it.
    func flush()
    /// How many bytes the client has not taken yet.
    var queuedBytes: Int { get }
    func setReadingPaused(_ isPaused: Bool)
    /// Nothing more will be written.
    func finish()
    /// Ends the connection at once.
    func abort()
}
