import CRDT
import Chat
import Wire

/// Steps through what a replica changed last, ascending by seq.
struct OverlayChanges {
    private let layers: OverlayLayers
    private let replica: ReplicaID
    /// The seqs that are not asked for.
    private let held: SeqSet
    /// What each layer has left.
    private var rests: [ArraySlice<OverlayChange>]

    init(
        _ layers: OverlayLayers, by replica: ReplicaID, from start: UInt64, without held: SeqSet
    ) {
        self.layers = layers
        self.held = held
        self.replica = replica
        rests = layers.layers.map { layer in
            let changes = layer.changes[replica] ?? []
            return changes[changes.bisected { $0.seq >= start }...]
        }
    }

    /// The next one below a seq; nil where there is none.
    mutating func next(below limit: UInt64) -> (seq: UInt64, record: Record)? {
        while let index = firstRest, let change = rests[index].first, change.seq < limit {
            // A run of seqs that are held is jumped over.
            if let end = held.end(ofRangeAround: change.seq) {
                rests[index] = rests[index][rests[index].bisected { $0.seq > end }...]
                continue
            }
            rests[index] = rests[index].dropFirst()
            // Superseded: it stands behind, under a later seq.
            guard let record = layers.record(change.key),
                record.changedBy.seq(of: replica) == change.seq
            else { continue }
            return (change.seq, record)
        }
        return nil
    }

    /// The one whose next change comes first.
    private var firstRest: Int? {
        var first: (index: Int, seq: UInt64)?
        for (index, rest) in rests.enumerated() {
            guard let seq = rest.first?.seq, seq < first?.seq ?? .max else { continue }
            first = (index, seq)
        }
        return first?.index
    }
}
