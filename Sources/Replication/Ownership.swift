import Wire

/// The owners of a shard and all other members that may hold it, as one node sees the members.
public struct Ownership: Hashable, Sendable {
    public let me: NodeName
    /// The members that should hold the shard, in the order of placement.
    public let owners: [NodeName]
    /// The number of owners that are not considered dead.
    public let livingOwners: Int
    /// All members except this node, owners or not: also dead, leaving and evicted ones, until they
    /// have left or are forgotten.
    ///
    /// Only when all of them have been heard from do their replicas together contain all that is
    /// left.
    public let others: [NodeName]

    public init(me: NodeName, owners: [NodeName], livingOwners: Int, others: [NodeName]) {
        self.me = me
        self.owners = owners
        self.livingOwners = livingOwners
        self.others = others
    }

    public var isOwnedHere: Bool { owners.contains(me) }
}
