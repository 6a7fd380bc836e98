import Wire

/// Who should hold a shard, and who might, as this node sees the members.
public struct Ownership: Hashable, Sendable {
    public let me: NodeName
    /// The members that should hold it, in order.
    public let owners: [NodeName]
    /// How many of the owners are not held dead.
    public let livingOwners: Int
    /// Every other member: dead ones, those on their way out and evicted ones too, until they have
    /// left or are forgotten.
    ///
    /// Only when all of them have been heard is what they hold together all that is left.
    public let others: [NodeName]

    public init(me: NodeName, owners: [NodeName], livingOwners: Int, others: [NodeName]) {
        self.me = me
        self.owners = owners
        self.livingOwners = livingOwners
        self.others = others
    }

    public var isOwnedHere: Bool { owners.contains(me) }
}
