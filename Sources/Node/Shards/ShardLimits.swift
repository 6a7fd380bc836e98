import CRDT
import Chat
import Replication
import Wire

/// The limits that a shard enforces, so that every accepted change can be stored, sent and merged.
extension ShardMachine {
    /// Refuses a mutation whose result might become too large; called before the mutation gets a
    /// dot.
    func checkSize(
        of mutation: Mutation, over target: ShardDocuments.Found?, hiding hidden: Hidden?
    ) throws(ShardFailure) {
        guard replica.mayNumber else { throw .refused(.shardFull) }
        guard let target else { return }
        // Each member with a replica may accept the same amount on its side of a partition.
        let members = replica.ownership.others.count + 1
        do throws(Refusal) {
            try mutation.judgeSize(
                of: target.document, target.size, hiding: hidden, members: members)
        } catch {
            throw .refused(error)
        }
    }

    /// Throws if a document names more replica ids than all nodes together accept, since no correct
    /// node sends such a document.
    func checkSize(of encodedDocument: EncodedDocument, _ theirs: Document) throws(ShardFailure) {
        guard replica.hasCapacity(for: theirs.changedBy),
            replica.hasCapacity(for: encodedDocument.superseded)
        else {
            throw .badFrame(.invalid("a number of processes"))
        }
    }

    /// The size in bytes of changed documents that are not on disk; each change counts.
    var unsettledBytes: Int { documents.unsettledBytes }
}
