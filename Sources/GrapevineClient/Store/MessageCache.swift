/// The messages that were last read or stored, so that a view is made without reading them again.
struct MessageCache {
    /// The most messages that are kept; then all are dropped.
    static let countMax = 4_096

    private var records: [String: [String: MessageRecord]] = [:]
    private var count = 0

    subscript(conversation: String, id: String) -> MessageRecord? {
        get { records[conversation]?[id] }
        set {
            if newValue != nil, count >= Self.countMax {
                records = [:]
                count = 0
            }
            let known = records[conversation, default: [:]].count
            records[conversation, default: [:]][id] = newValue
            count += records[conversation, default: [:]].count - known
        }
    }

    /// Drops all messages of a conversation.
    mutating func drop(_ conversation: String) {
        count -= records.removeValue(forKey: conversation)?.count ?? 0
    }
}
