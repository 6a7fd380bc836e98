import CRDT
import Chat
import Wire

/// An iterator over documents in the write log that a replica id changed last, ascending by seq.
struct OverlayChanges {
    private let layers: OverlayLayers
    private let replica: ReplicaID
    /// The seqs whose changes are skipped.
    private let held: SeqSet
    /// The remaining changes of each layer.
    private var rests: [ArraySlice<OverlayChange>]

    init(
        _ layers: OverlayLayers, by replica: ReplicaID, from start: UInt64, without held: SeqSet
    ) {
        self.layers = layers
        self.held = held
        self.replica = replica
        rests = layers.layers.map { layer in
            let changes = layer.changes[replica] ?? []
            return changes[changes.partitioningIndex { $0.seq >= start }...]
        }
    }

    /// Returns the next change with a seq below `limit`; nil if there is none.
    mutating func next(below limit: UInt64) -> (seq: UInt64, record: Record)? {
        while let index = firstRest, let change = rests[index].first, change.seq < limit {
            // All changes in the range of skipped seqs around this change are skipped at once.
            if let end = held.end(ofRangeAround: change.seq) {
                rests[index] = rests[index][rests[index].partitioningIndex { $0.seq > end }...]
                continue
            }
            rests[index] = rests[index].dropFirst()
            // A superseded change is skipped: the document occurs again under a later seq.
            guard let record = layers.record(change.key),
                record.changedBy.seq(of: replica) == change.seq
            else { continue }
            return (change.seq, record)
        }
        return nil
    }

    /// The index of the layer whose next change has the least seq.
    private var firstRest: Int? {
        var first: (index: Int, seq: UInt64)?
        for (index, rest) in rests.enumerated() {
            guard let seq = rest.first?.seq, seq < first?.seq ?? .max else { continue }
            first = (index, seq)
        }
        return first?.index
    }
}
