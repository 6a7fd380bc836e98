import Chat
import Wire

/// Steps through a conversation's messages that a page admits, in the page's direction.
struct OverlayMessages {
    private let layers: OverlayLayers
    private let partition: String
    private let isDescending: Bool
    /// What each layer has left, in the order of history.
    private var rests: [ArraySlice<HistoryPosition>]

    init(_ layers: OverlayLayers, of conversation: ConversationID, on page: HistoryPage) {
        self.layers = layers
        partition = conversation.text
        isDescending = page.isDescending
        rests = layers.layers.map { layer in
            let all = layer.messages[conversation.text] ?? []
            switch page.place {
            case .newest: return all[...]
            case .before(let bound): return all[..<all.bisected { $0 >= bound }]
            case .after(let bound): return all[all.bisected { $0 > bound }...]
            }
        }
    }

    /// The next one that comes before a position in the page's direction, or before all that is
    /// left.
    mutating func next(before limit: HistoryPosition?) -> Record? {
        while let (index, position) = first {
            if let limit, !comes(position, before: limit) { return nil }
            rests[index] = isDescending ? rests[index].dropLast() : rests[index].dropFirst()
            let key = DocumentKey(checked: .message, partition: partition, id: position.id.text)
            // A message that has moved stands at its other place.
            guard let record = layers.record(key), record.time == position.time else { continue }
            // One that two layers have at the same place is met in both.
            guard !isRepeated(position) else { continue }
            return record
        }
        return nil
    }

    private var first: (index: Int, position: HistoryPosition)? {
        var found: (index: Int, position: HistoryPosition)?
        for (index, rest) in rests.enumerated() {
            guard let position = isDescending ? rest.last : rest.first else { continue }
            if let best = found, !comes(position, before: best.position) { continue }
            found = (index, position)
        }
        return found
    }

    private func isRepeated(_ position: HistoryPosition) -> Bool {
        rests.contains { (isDescending ? $0.last : $0.first) == position }
    }

    private func comes(_ left: HistoryPosition, before right: HistoryPosition) -> Bool {
        isDescending ? left > right : left < right
    }
}
