import Wire

/// A profile as it is now, and the checksum of the one that it replaced.
public struct ProfileChange: Hashable, Sendable {
    public let view: ProfileView
    /// The checksum of the previous profile: 0 where there was none; nil where it is unknown.
    public let replaced: UInt32?

    public init(_ view: ProfileView, replacing replaced: UInt32?) {
        self.view = view
        self.replaced = replaced
    }
}

extension ProfileView {
    /// A checksum of all fields.
    public var sum: UInt32 { UInt32(truncatingIfNeeded: checksum(encoded)) }
}

/// The sums of the checksums of the profiles that a watcher has received: its user's own and those
/// of everybody who shares a conversation with them.
///
/// The sums travel in the watcher's token. A resumed watcher receives the profiles of those groups
/// whose sums have changed, so that nothing is missed and little is sent twice. Two different sums
/// are equal by chance once in 2^32 cases.
public struct ProfileSums: Hashable, Sendable {
    /// A sum for each group of users; a user's group is a hash of the name.
    public private(set) var groups: [UInt32]

    public static let groupsCount = 8

    public init() { groups = Array(repeating: 0, count: ProfileSums.groupsCount) }

    public init(of profiles: [ProfileView]) {
        self.init()
        for profile in profiles { change(profile.user, from: 0, to: profile.sum) }
    }

    /// Creates the sums from those of all groups; nil where the number of groups is another.
    public init?(_ groups: [UInt32]) {
        guard groups.count == ProfileSums.groupsCount else { return nil }
        self.groups = groups
    }

    /// Replaces the checksum `old` of the user's profile by `new`; 0 stands for no profile.
    public mutating func change(_ user: UserID, from old: UInt32, to new: UInt32) {
        groups[ProfileSums.group(of: user)] &+= new &- old
    }

    /// Whether the profile of `user` may have changed since the sums were `old`.
    public func mayDiffer(_ user: UserID, from old: ProfileSums) -> Bool {
        let group = ProfileSums.group(of: user)
        return groups[group] != old.groups[group]
    }

    private static func group(of user: UserID) -> Int {
        Int(checksum(of: user.text) % UInt64(groupsCount))
    }
}
