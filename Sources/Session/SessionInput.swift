/// The receiver of a client connection's events, called on the event loop's thread.
package protocol SessionInput: Actor {
    /// - Parameter bytes: the received bytes, valid only during the call.
    func onBytes(_ bytes: UnsafeRawBufferPointer)
    /// Handles the end of the client's input; the client's earlier requests are still answered.
    func onEnd()
    /// Continues with waiting requests after the client has read some of the written bytes.
    func onDrained()
    /// Handles the end of the connection.
    func onClosed()
}
