import CRDT
import Chat
import Wire

/// The records of one shard that are only in the write log.
struct OverlayLayers {
    /// The memtables with records of the shard, latest first; never empty.
    let layers: [OverlayShard]

    /// Returns the latest record of a document; nil if the tables have its latest state.
    func record(_ key: DocumentKey) -> Record? {
        for layer in layers {
            if let record = layer.records[key] { return record }
        }
        return nil
    }

    /// The latest record of each document, in no particular order.
    var records: [Record] {
        var merged = layers[0].records
        for layer in layers.dropFirst() {
            merged.merge(layer.records) { newer, _ in newer }
        }
        return Array(merged.values)
    }

    /// Returns the keys of the documents of a kind that have an index term or recently had it.
    func keys(of kind: DocumentKey.Kind, carrying term: String) -> [DocumentKey] {
        layers.flatMap { layer in
            (layer.carriers[term] ?? []).filter { $0.kind == kind }
        }
    }

    /// Returns the latest record of each participant state of a conversation, unordered.
    func participantStates(of conversation: ConversationID) -> [Record] {
        let keys = Set(layers.flatMap { $0.participantStates[conversation.text] ?? [] })
        return keys.compactMap(record)
    }

    func changes(
        by replica: ReplicaID, from start: UInt64, without held: SeqSet
    ) -> OverlayChanges {
        OverlayChanges(self, by: replica, from: start, without: held)
    }

    /// Returns the latest record of each document after a walk's position, ascending by position.
    func walk(after position: WalkPosition?) -> [(position: WalkPosition, record: Record)] {
        records.map { (WalkPosition($0), $0) }
            .filter { entry in position.map { $0 < entry.0 } ?? true }
            .sorted { $0.0 < $1.0 }
    }

    func messages(of conversation: ConversationID, on page: HistoryPage) -> OverlayMessages {
        OverlayMessages(self, of: conversation, on: page)
    }
}
