import Wire

/// The owners of a shard and all other members that may have a replica of the shard, as one node
/// sees the members.
public struct Ownership: Hashable, Sendable {
    public let me: NodeName
    /// The members that should have a replica of the shard, in the order of placement.
    public let owners: [NodeName]
    /// The number of owners that are not considered dead.
    public let livingOwners: Int
    /// All members except this node, owners or not; dead, leaving and evicted members are included
    /// until they have left or are forgotten.
    ///
    /// Only after every other member has answered is it certain that all existing changes of the
    /// shard were found.
    public let others: [NodeName]

    public init(me: NodeName, owners: [NodeName], livingOwners: Int, others: [NodeName]) {
        self.me = me
        self.owners = owners
        self.livingOwners = livingOwners
        self.others = others
    }

    public var isOwnedHere: Bool { owners.contains(me) }
}
