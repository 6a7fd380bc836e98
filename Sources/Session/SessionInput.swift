/// The receiver of the events of a client's connection, on the loop's thread.
package protocol SessionInput: Actor {
    /// - Parameter bytes: valid during the call only.
    func onBytes(_ bytes: UnsafeRawBufferPointer)
    /// Handles the end of the client's input; its requests are still answered.
    func onEnd()
    /// Continues after the client has taken some of what was written.
    func onDrained()
    /// Handles the end of the connection.
    func onClosed()
}
