import Wire

/// A profile as it is now, and what it replaced.
public struct ProfileChange: Hashable, Sendable {
    public let view: ProfileView
    /// The checksum of the profile before, 0 where there was none; nil where nobody knows.
    public let replaced: UInt32?

    public init(_ view: ProfileView, replacing replaced: UInt32?) {
        self.view = view
        self.replaced = replaced
    }
}

extension ProfileView {
    /// A checksum of all that it says.
    public var sum: UInt32 { UInt32(truncatingIfNeeded: checksum(encoded)) }
}

/// The sums of the checksums of the profiles that a watcher was told: that of its user, and those
/// of everybody that shares a conversation with them.
///
/// It travels in the watcher's token. Who comes back with it is told the profiles of those groups
/// whose sums have become others, so that nothing is missed and little is told twice. Sums are
/// equal by chance once in 2^32.
public struct ProfileSums: Hashable, Sendable {
    /// One for each group of users; a user's group is a hash of the name.
    public private(set) var groups: [UInt32]

    public static let groupsCount = 8

    public init() { groups = Array(repeating: 0, count: ProfileSums.groupsCount) }

    public init(of profiles: [ProfileView]) {
        self.init()
        for profile in profiles { change(profile.user, from: 0, to: profile.sum) }
    }

    /// Nil where they are not those of all groups.
    public init?(_ groups: [UInt32]) {
        guard groups.count == ProfileSums.groupsCount else { return nil }
        self.groups = groups
    }

    /// - Parameters: checksums of the user's profile; 0 stands for none.
    public mutating func change(_ user: UserID, from old: UInt32, to new: UInt32) {
        groups[ProfileSums.group(of: user)] &+= new &- old
    }

    /// Whether the profile of `user` may be another than when these were `old`.
    public func mayDiffer(_ user: UserID, from old: ProfileSums) -> Bool {
        let group = ProfileSums.group(of: user)
        return groups[group] != old.groups[group]
    }

    private static func group(of user: UserID) -> Int {
        Int(checksum(of: user.text) % UInt64(groupsCount))
    }
}
