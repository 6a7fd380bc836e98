import CRDT
import Chat
import Wire

/// What the journal alone has of one shard.
struct OverlayLayers {
    /// The latest first; never empty.
    let layers: [OverlayShard]

    /// The latest record of a document, nil where the tables are right.
    func record(_ key: DocumentKey) -> Record? {
        for layer in layers {
            if let record = layer.records[key] { return record }
        }
        return nil
    }

    /// The latest record of each document, in no order.
    var records: [Record] {
        var merged = layers[0].records
        for layer in layers.dropFirst() {
            merged.merge(layer.records) { newer, _ in newer }
        }
        return Array(merged.values)
    }

    /// The keys of a kind that carry a term, or did a moment ago.
    func keys(of kind: DocumentKey.Kind, carrying term: String) -> [DocumentKey] {
        layers.flatMap { layer in
            (layer.carriers[term] ?? []).filter { $0.kind == kind }
        }
    }

    /// The latest record of each seat of a conversation, in no order.
    func seats(of conversation: ConversationID) -> [Record] {
        let keys = Set(layers.flatMap { $0.seats[conversation.text] ?? [] })
        return keys.compactMap(record)
    }

    func changes(by replica: ReplicaID, from start: UInt64) -> OverlayChanges {
        OverlayChanges(self, by: replica, from: start)
    }

    func messages(of conversation: ConversationID, on page: HistoryPage) -> OverlayMessages {
        OverlayMessages(self, of: conversation, on: page)
    }
}
