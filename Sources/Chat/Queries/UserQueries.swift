import CRDT
import Wire

extension QueryTable {
    static let ofUsers: [any Query.Type] = [
        ProfileQuery.self, NamesQuery.self, ProfilesQuery.self, BlocksQuery.self,
        BlockersQuery.self, ItemQuery.self, ItemsQuery.self,
    ]
}

/// A query whose only parameter is the user who owns the documents that the query reads.
public protocol OwnerQuery: Query {
    var owner: UserID { get }

    init(of owner: UserID)
}

extension OwnerQuery {
    public init(code: UInt8, from reader: inout ByteReader) throws(WireError) {
        self.init(of: try reader.readName())
    }

    public func encode(into writer: inout ByteWriter) { writer.write(owner) }

    public var partition: String? { owner.text }
}

/// A query about several users, which all shards answer.
public protocol UsersQuery: Query {
    /// The users in question, ascending.
    var asked: [UserID] { get }

    init(among asked: [UserID])
}

extension UsersQuery {
    public init(code: UInt8, from reader: inout ByteReader) throws(WireError) {
        self.init(among: try NamesQuery.readUsers(from: &reader))
    }

    public func encode(into writer: inout ByteWriter) { asked.encode(into: &writer) }

    public var partition: String? { nil }
}

/// A query for the profile of a user, which every user may make.
public struct ProfileQuery: OwnerQuery {
    public typealias Answer = ProfileView
    public static let codes: [UInt8] = [6]

    public let owner: UserID

    public init(of owner: UserID) { self.owner = owner }

    public func find<Source: QuerySource>(
        for viewer: Viewer, in source: inout Source
    ) throws(Source.Failure) -> ProfileView {
        guard let profile = try source.document(.profile(owner))?.profile else {
            throw .refused(.profileNotFound)
        }
        return profile.view(of: owner, isExact: viewer.isExact)
    }
}

extension QuerySource {
    /// Returns the profiles that this shard stores of the given users, in the order of the users.
    mutating func profiles(
        of users: [UserID]
    ) throws(Failure) -> [(user: UserID, document: Document, profile: Profile)] {
        var profiles: [(user: UserID, document: Document, profile: Profile)] = []
        for user in users where holds(.profile(user)) {
            guard let document = try document(.profile(user)), let profile = document.profile
            else { continue }
            profiles.append((user, document, profile))
        }
        return profiles
    }
}

/// A query for the names that the given users have set; users without a name are left out.
public struct NamesQuery: UsersQuery {
    public typealias Answer = [NameView]
    public static let codes: [UInt8] = [23]
    /// The most users: one list of notifications may have that many senders.
    public static let usersMax = DueQuery.shownMax + ListedNotification.countMax

    /// The users in question, at most `usersMax`, ascending.
    public let asked: [UserID]

    public init(among asked: [UserID]) { self.asked = asked }

    /// Reads a list of at most `usersMax` users, ascending.
    static func readUsers(from reader: inout ByteReader) throws(WireError) -> [UserID] {
        let users = try reader.readUsers()
        guard users.count <= usersMax else {
            throw .tooLong(count: UInt64(users.count), limit: usersMax)
        }
        return users
    }

    public func find<Source: QuerySource>(
        for viewer: Viewer, in source: inout Source
    ) throws(Source.Failure) -> [NameView] {
        try source.profiles(of: asked).compactMap { $0.profile.nameView(of: $0.user) }
    }
}

/// A query for the profiles of the given users; users without a profile are left out.
public struct ProfilesQuery: UsersQuery {
    public typealias Answer = [DatedProfile]
    public static let codes: [UInt8] = [25]

    /// The users in question, at most `NamesQuery.usersMax`, ascending.
    public let asked: [UserID]

    public init(among asked: [UserID]) { self.asked = asked }
    public var users: [UserID]? { asked }

    public func find<Source: QuerySource>(
        for viewer: Viewer, in source: inout Source
    ) throws(Source.Failure) -> [DatedProfile] {
        try source.profiles(of: asked).map {
            DatedProfile(
                view: $0.profile.view(of: $0.user, isExact: viewer.isExact),
                at: $0.document.greatestTime)
        }
    }
}

/// A query for the users whom a user has blocked.
public struct BlocksQuery: OwnerQuery {
    public typealias Answer = Blocks
    public static let codes: [UInt8] = [37]

    public let owner: UserID

    public init(of owner: UserID) { self.owner = owner }

    public func find<Source: QuerySource>(
        for viewer: Viewer, in source: inout Source
    ) throws(Source.Failure) -> Blocks { try source.blocks(of: owner) }
}

/// A query that finds which of the given users have blocked the viewer.
public struct BlockersQuery: UsersQuery {
    public typealias Answer = [UserID]
    public static let codes: [UInt8] = [38]
    public static let isForOperators = true

    /// The users in question, at most `ChatLimits.participantsMax`, ascending.
    public let asked: [UserID]

    public init(among asked: [UserID]) { self.asked = asked }
    public var users: [UserID]? { asked }

    public func find<Source: QuerySource>(
        for viewer: Viewer, in source: inout Source
    ) throws(Source.Failure) -> [UserID] {
        var blockers: [UserID] = []
        for other in asked where source.holds(.blocks(other)) {
            if try source.blocks(of: other).contains(viewer.user) { blockers.append(other) }
        }
        return blockers
    }
}

/// A query for one of the user's action items.
public struct ItemQuery: Query {
    public typealias Answer = [ItemView]
    public static let codes: [UInt8] = [44]

    public let item: ItemID

    public init(_ item: ItemID) { self.item = item }

    public init(code: UInt8, from reader: inout ByteReader) throws(WireError) {
        item = try reader.readName()
    }

    public func encode(into writer: inout ByteWriter) { writer.write(item) }

    public var partition: String? { item.text }

    public func find<Source: QuerySource>(
        for viewer: Viewer, in source: inout Source
    ) throws(Source.Failure) -> [ItemView] {
        let found = try source.document(of: item, of: viewer.user)?.item
        guard let found, !found.isDeleted else { throw .refused(.itemNotFound) }
        return [found.view(as: item, isExact: viewer.isExact)]
    }
}

/// A query for the user's action items.
public struct ItemsQuery: ListQuery {
    public typealias Answer = [ItemView]
    public static let codes: [UInt8] = [7]
    public static let kind = DocumentKey.Kind.item
    public static let empty: [ItemView] = []

    public init() {}

    public init(code: UInt8, from reader: inout ByteReader) throws(WireError) {}

    public func encode(into writer: inout ByteWriter) {}

    public func part<Source: QuerySource>(
        of document: Document, for viewer: Viewer, in source: inout Source
    ) throws(Source.Failure) -> [ItemView]? {
        guard let item = document.item, item.owner == viewer.user, !item.isDeleted,
            let id = ItemID(document.key.partition)
        else { return nil }
        // An item under an earlier version's key counts only if its present key has no document.
        if document.key.id.isEmpty, try source.document(.item(id, of: item.owner)) != nil {
            return nil
        }
        return [item.view(as: id, isExact: viewer.isExact)]
    }
}
