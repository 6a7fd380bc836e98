import CRDT
import Chat
import Replication
import Wire

/// A shard's answers about documents that belong to a user and to no conversation.
extension ShardMachine {
    mutating func profile(
        of user: UserID, in world: ShardWorld
    ) throws(ShardFailure) -> ProfileView {
        guard let profile = try find(.profile(user), in: world)?.document.profile else {
            throw .refused(.profileNotFound)
        }
        return profile.view(of: user)
    }

    /// Returns the names of those of these users who have given one and whose profiles are in this
    /// shard, ascending.
    mutating func names(
        of users: [UserID], in world: ShardWorld
    ) throws(ShardFailure) -> [NameView] {
        try profileDocuments(of: users, in: world).compactMap { user, document in
            document.profile?.nameView(of: user)
        }
    }

    /// Returns those of these users' profiles that are in this shard, in the order of the users.
    mutating func profiles(
        of users: [UserID], in world: ShardWorld
    ) throws(ShardFailure) -> [DatedProfile] {
        try profileDocuments(of: users, in: world).compactMap { user, document in
            document.profile.map {
                DatedProfile(view: $0.view(of: user), at: document.greatestTime)
            }
        }
    }

    private mutating func profileDocuments(
        of users: [UserID], in world: ShardWorld
    ) throws(ShardFailure) -> [(user: UserID, document: Document)] {
        var documents: [(user: UserID, document: Document)] = []
        for user in users {
            let key = DocumentKey.profile(user)
            guard key.shard(of: shardCount) == replica.shard,
                let document = try find(key, in: world)?.document
            else { continue }
            documents.append((user, document))
        }
        return documents
    }

    /// Returns the accounts of the shard's first addresses after one.
    mutating func accounts(
        after last: AddressID?, in world: ShardWorld
    ) throws(ShardFailure) -> [AccountView] {
        var views: [AccountView] = []
        for key in try keys(of: .credentials, carrying: Term.account, in: world)
        where views.count < Query.accountsMax {
            guard let address = AddressID(key.partition), last.map({ $0 < address }) ?? true,
                let credentials = try find(key, in: world)?.document.credentials
            else { continue }
            views += credentials.views(at: address)
        }
        return views
    }
}
