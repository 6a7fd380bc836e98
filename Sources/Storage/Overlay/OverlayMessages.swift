import Chat
import Wire

/// An iterator over a conversation's messages in the write log, which starts at a page's place and
/// follows the page's direction.
struct OverlayMessages {
    private let layers: OverlayLayers
    private let partition: String
    private let isDescending: Bool
    /// The remaining messages of each layer, in the order of history.
    private var rests: [ArraySlice<HistoryPosition>]

    init(_ layers: OverlayLayers, of conversation: ConversationID, on page: HistoryPage) {
        self.layers = layers
        partition = conversation.text
        isDescending = page.isDescending
        rests = layers.layers.map { layer in
            let all = layer.messages[conversation.text] ?? []
            switch page.place {
            case .newest: return all[...]
            case .before(let bound): return all[..<all.partitioningIndex { $0 >= bound }]
            case .after(let bound): return all[all.partitioningIndex { $0 > bound }...]
            }
        }
    }

    /// Returns the next message if it precedes `limit` in the page's direction; nil means no limit.
    mutating func next(before limit: HistoryPosition?) -> Record? {
        while let (index, position) = first {
            if let limit, !comes(position, before: limit) { return nil }
            rests[index] = isDescending ? rests[index].dropLast() : rests[index].dropFirst()
            let key = DocumentKey(checked: .message, partition: partition, id: position.id.text)
            // A message whose time has changed is skipped here: it occurs again under its new time.
            guard let record = layers.record(key), record.time == position.time else { continue }
            // A message that several layers have at one position is returned only for the last
            // layer.
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
