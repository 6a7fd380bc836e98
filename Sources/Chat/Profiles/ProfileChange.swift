import Wire

/// The new state of a profile, and the checksum of its previous state.
public struct ProfileChange: Hashable, Sendable {
    public let view: ProfileView
    /// The checksum of the previous profile: 0 if there was no profile; nil if the checksum is
    /// unknown.
    public let replaced: UInt32?

    public init(_ view: ProfileView, replacing replaced: UInt32?) {
        self.view = view
        self.replaced = replaced
    }
}

extension ProfileView {
    /// A checksum of all fields of the profile.
    public var sum: UInt32 { UInt32(truncatingIfNeeded: checksum(encoded)) }
}

/// The sums of the checksums of the profiles that a watcher has received: the profiles of its user
/// and of all users who share a conversation with its user.
///
/// The sums travel in the watcher's token. A resumed watcher receives the profiles of those groups
/// whose sums have changed, so that no change is missed and few profiles are sent twice. Two
/// different sets of profiles have equal sums with a probability of 1 in 2^32.
public struct ProfileSums: Hashable, Sendable {
    /// The sum of each group's checksums; a hash of a user's name determines the group.
    public private(set) var groups: [UInt32]

    public static let groupsCount = 8

    public init() { groups = Array(repeating: 0, count: ProfileSums.groupsCount) }

    public init(of profiles: [ProfileView]) {
        self.init()
        for profile in profiles { change(profile.user, from: 0, to: profile.sum) }
    }

    /// Creates the sums from those of all groups; nil if there are not `groupsCount` groups.
    public init?(_ groups: [UInt32]) {
        guard groups.count == ProfileSums.groupsCount else { return nil }
        self.groups = groups
    }

    /// Replaces the checksum `old` of the user's profile by `new`; 0 represents a missing profile.
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
