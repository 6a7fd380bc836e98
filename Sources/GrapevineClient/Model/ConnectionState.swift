/// The state of a client's connection to the cluster.
public enum ConnectionState: Hashable, Sendable {
    /// The reason for which a client keeps no connection.
    public enum Pause: Hashable, Sendable {
        /// The app asked for it, to try how it works without a network.
        case debug
        /// The app is in the background.
        case background
        /// The app has closed the store.
        case suspended
    }

    /// Nobody is signed in.
    case signedOut
    /// No connection is wanted.
    case paused(Pause)
    /// No node could be reached; the next attempt is made soon.
    case waiting
    /// A connection is being opened.
    case opening
    /// A node is connected, and tells what was missed.
    case catchingUp
    /// A node is connected, and events arrive as they happen.
    case online

    /// Whether a node is connected.
    public var isConnected: Bool { self == .catchingUp || self == .online }
}
