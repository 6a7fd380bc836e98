import CRDT
import Chat
import Wire

/// An iterator over the documents in the write log that a replica changed last, ascending by seq.
struct OverlayChanges {
    private let layers: OverlayLayers
    private let replica: ReplicaID
    /// The seqs that are skipped.
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

    /// Returns the next change below a seq; nil where there is none.
    mutating func next(below limit: UInt64) -> (seq: UInt64, record: Record)? {
        while let index = firstRest, let change = rests[index].first, change.seq < limit {
            // The whole run of held seqs is skipped.
            if let end = held.end(ofRangeAround: change.seq) {
                rests[index] = rests[index][rests[index].partitioningIndex { $0.seq > end }...]
                continue
            }
            rests[index] = rests[index].dropFirst()
            // Superseded: the document occurs again, under a later seq.
            guard let record = layers.record(change.key),
                record.changedBy.seq(of: replica) == change.seq
            else { continue }
            return (change.seq, record)
        }
        return nil
    }

    /// The layer whose next change comes first.
    private var firstRest: Int? {
        var first: (index: Int, seq: UInt64)?
        for (index, rest) in rests.enumerated() {
            guard let seq = rest.first?.seq, seq < first?.seq ?? .max else { continue }
            first = (index, seq)
        }
        return first?.index
    }
}
