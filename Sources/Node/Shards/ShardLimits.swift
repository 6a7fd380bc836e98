import CRDT
import Chat
import Replication
import Wire

/// The limits that a shard enforces, so that everything it accepts can be stored, sent and merged.
extension ShardMachine {
    /// Refuses a mutation whose result might become too large; called before the mutation has a
    /// dot.
    func checkSize(
        of mutation: Mutation, over target: ShardDocuments.Found?, hiding hidden: Hidden?
    ) throws(ShardFailure) {
        guard replica.mayNumber else { throw .refused(.shardFull) }
        guard let target else { return }
        // Each member that may hold a replica may accept as much on its own side of a network
        // partition.
        let members = replica.ownership.others.count + 1
        do throws(Refusal) {
            try mutation.judgeSize(
                of: target.document, target.size, hiding: hidden, members: members)
        } catch {
            throw .refused(error)
        }
    }

    /// Throws if a document names more processes than all nodes together accept: no node sends
    /// that.
    func checkSize(of encodedDocument: EncodedDocument, _ theirs: Document) throws(ShardFailure) {
        guard replica.hasCapacity(for: theirs.changedBy),
            replica.hasCapacity(for: encodedDocument.superseded)
        else {
            throw .badFrame(.invalid("a number of processes"))
        }
    }

    /// The bytes of rewritten documents that are not on disk yet; a document counts for each
    /// change.
    var unsettledBytes: Int { documents.unsettledBytes }
}
