import CRDT
import Chat
import Replication
import StorePort
import Wire

/// A shard's answers to queries for the users whom its users have blocked.
extension ShardMachine {
    /// Returns the users whom a user has blocked.
    mutating func blocks(of user: UserID, in world: ShardWorld) throws(ShardFailure) -> Blocks {
        guard try haveBlocks(in: world) else { return Blocks() }
        return try find(.blocks(user), in: world)?.document.blocks ?? Blocks()
    }

    mutating func noteBlocks() { documents.haveBlocks = true }

    /// Returns whether any user of the shard has ever blocked another user; if not, which is
    /// common, no further read is needed.
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
