import CRDT
import Chat
import Replication
import StorePort
import Wire

/// The lookup of a shard's action items; items of different owners may have the same ids.
///
/// Earlier versions stored only one item under an id, for all owners. An item's document of an
/// earlier version remains valid for its owner, unless the owner has a document under the key of
/// this version.
extension ShardMachine {
    /// Returns the document that a mutation changes; nil if the document does not exist yet.
    mutating func target(
        of mutation: Mutation, in world: ShardWorld
    ) throws(ShardFailure) -> ShardDocuments.Found? {
        guard let item = mutation.item else { return try find(mutation.key, in: world) }
        return try find(item: item, of: mutation.user, in: world)
    }

    mutating func find(
        item: ItemID, of owner: UserID, in world: ShardWorld
    ) throws(ShardFailure) -> ShardDocuments.Found? {
        if let own = try find(.item(item, of: owner), in: world) { return own }
        let shared = try find(.sharedItem(item), in: world)
        guard let document = shared?.document else { return nil }
        return document.isUnreadable || document.item?.owner == owner ? shared : nil
    }

    /// Returns why a mutation is refused: `notOwner` instead of `itemNotFound` if only another user
    /// has an item under the id.
    mutating func refusal(
        _ refusal: Refusal, of mutation: Mutation, in world: ShardWorld
    ) throws(ShardFailure) -> Refusal {
        guard refusal == .itemNotFound, let item = mutation.item,
            try target(of: mutation, in: world) == nil, try hasItem(item, in: world)
        else { return refusal }
        return .notOwner
    }

    /// Returns whether any user has an item under this id.
    private mutating func hasItem(
        _ item: ItemID, in world: ShardWorld
    ) throws(ShardFailure) -> Bool {
        let shared = DocumentKey.sharedItem(item)
        if try find(shared, in: world) != nil { return true }
        let isPending = documents.pending.keys.contains {
            $0.kind == .item && $0.partition == item.text
        }
        if isPending { return true }
        let shard = replica.shard
        let next = try read { () throws(StoreFailure) in
            try world.reader.keys(
                of: .item, carrying: Term.item, in: shard, after: shared, limit: 1)
        }
        return next.first?.partition == item.text
    }
}
