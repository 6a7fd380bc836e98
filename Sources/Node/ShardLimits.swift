import CRDT
import Chat
import Replication
import Wire

/// What a shard refuses so that everything it accepts can be stored, sent and merged.
extension ShardMachine {
    /// Judges the size of what a mutation makes, before it is named.
    func checkSize(
        of mutation: Mutation, over target: ShardDocuments.Found?, hiding hidden: Hidden?
    ) throws(ShardFailure) {
        guard copy.mayNumber else { throw .refused(.shardFull) }
        guard let target else { return }
        // Whoever may hold a copy may accept as much on its own side of a cut.
        let members = copy.ownership.others.count + 1
        do throws(Refusal) {
            try mutation.judgeSize(
                of: target.document, target.size, hiding: hidden, members: members)
        } catch {
            throw .refused(error)
        }
    }

    /// What no node that is what it says ever sends: it passes what all of them together accept.
    func checkSize(of encodedDocument: EncodedDocument, _ theirs: Document) throws(ShardFailure) {
        guard copy.hasRoom(for: theirs.changedBy), copy.hasRoom(for: encodedDocument.superseded)
        else {
            throw .badFrame(.invalid("a number of processes"))
        }
    }

    /// The bytes of documents that were rewritten and are not on disk yet, each change counted.
    var unsettledBytes: Int { documents.unsettledBytes }
}
