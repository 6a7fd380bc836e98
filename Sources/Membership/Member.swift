import Wire

/// A node as the others know it.
public struct Member: Hashable, Sendable {
    public let name: NodeName
    /// The process that says so, and no other that ever ran under the name.
    public let process: RandomID
    /// Where it talks to the other nodes, as host:port.
    public let gossip: String
    /// Where it takes lines.
    public let admin: String
    /// Raised by the member alone: at each start, and to refute what others say of it.
    public internal(set) var incarnation: UInt64

    public init(
        name: NodeName, process: RandomID, gossip: String, admin: String, incarnation: UInt64
    ) {
        self.name = name
        self.process = process
        self.gossip = gossip
        self.admin = admin
        self.incarnation = incarnation
    }
}
