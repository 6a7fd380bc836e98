import CRDT
import Chat
import Replication
import StorePort
import Wire

/// A shard's answers about whom its users have blocked, and who has an account.
extension ShardMachine {
    /// Whom a user has blocked.
    mutating func blocks(of user: UserID, in world: ShardWorld) throws(ShardFailure) -> Blocks {
        guard try haveBlocks(in: world) else { return Blocks() }
        return try find(.blocks(user), in: world)?.document.blocks ?? Blocks()
    }

    mutating func noteBlocks() { documents.haveBlocks = true }

    /// Those of these users of this shard who have blocked a user.
    mutating func blockers(
        of user: UserID, among users: [UserID], in world: ShardWorld
    ) throws(ShardFailure) -> [UserID] {
        guard try haveBlocks(in: world) else { return [] }
        var blockers: [UserID] = []
        for other in users where DocumentKey.blocks(other).shard(of: shardCount) == replica.shard {
            if try blocks(of: other, in: world).contains(user) { blockers.append(other) }
        }
        return blockers
    }

    /// Those of these users who have an account at an address of this shard.
    mutating func accountUsers(
        among users: [UserID], in world: ShardWorld
    ) throws(ShardFailure) -> [UserID] {
        var found: [UserID] = []
        for user in users {
            for key in try keys(of: .credentials, carrying: Term.account(of: user), in: world) {
                let credentials = try find(key, in: world)?.document.credentials
                guard credentials?.present.contains(where: { $0.user == user }) ?? false else {
                    continue
                }
                found.append(user)
                break
            }
        }
        return found
    }

    /// Whether any user of the shard has ever blocked another; nearly all requests of users of a
    /// shard where nobody has end here.
    private mutating func haveBlocks(in world: ShardWorld) throws(ShardFailure) -> Bool {
        if let known = documents.haveBlocks { return known }
        let shard = replica.shard
        let found = try read { () throws(StoreFailure) in
            try world.reader.keys(
                of: .blocks, carrying: Term.blocks, in: shard, after: nil, limit: 1)
        }
        documents.haveBlocks = !found.isEmpty
        return !found.isEmpty
    }
}
