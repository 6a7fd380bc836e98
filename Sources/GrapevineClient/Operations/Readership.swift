/// The users who have received and read the messages of a conversation, by the marks of its
/// participants.
///
/// All messages of a sender between two positions of marks have the same readers, who are found
/// once.
struct Readership {
    /// The users whose marks reach a message, and the times of the last marks that complete it.
    struct Reach {
        var readBy: [String]
        var deliveredTo: [String]
        /// Whether all participants but the sender have read it.
        var isRead: Bool
        var isDelivered: Bool
        var readAt: ExactTime?
        var deliveredAt: ExactTime?
    }

    private struct Key: Hashable {
        let sender: String
        let reads: Int
        let deliveries: Int
    }

    private let marks: [MarkRecord]
    private let participants: [String]
    private var known: [Key: Reach] = [:]

    init(marks: [MarkRecord], participants: [String]) {
        self.marks = marks
        self.participants = participants
    }

    /// Returns who has received and read a message.
    mutating func reach(ofMessageBy sender: String, at sent: ExactTime) -> Reach {
        let key = Key(
            sender: sender, reads: marks.count { $0.read.map { $0.sent >= sent } ?? false },
            deliveries: marks.count { $0.delivered.map { $0.sent >= sent } ?? false })
        if let found = known[key] { return found }
        let found = find(sender, sent)
        known[key] = found
        return found
    }

    private func find(_ sender: String, _ sent: ExactTime) -> Reach {
        let readers = others(than: sender, whose: \.read, reaches: sent)
        // Who has read a message has received it.
        let receivers = readers.merging(others(than: sender, whose: \.delivered, reaches: sent)) {
            read, delivered in delivered ?? read
        }
        let others = participants.filter { $0 != sender }
        let isRead = !others.isEmpty && others.allSatisfy { readers[$0] != nil }
        let isDelivered = !others.isEmpty && others.allSatisfy { receivers[$0] != nil }
        return Reach(
            readBy: readers.keys.sorted(), deliveredTo: receivers.keys.sorted(), isRead: isRead,
            isDelivered: isDelivered,
            readAt: isRead ? readers.values.compactMap(\.self).max() : nil,
            deliveredAt: isDelivered ? receivers.values.compactMap(\.self).max() : nil)
    }

    /// Returns the participants other than the sender whose mark reaches a message, with the times
    /// of their marks.
    private func others(
        than sender: String, whose mark: KeyPath<MarkRecord, MarkRecord.Position?>,
        reaches sent: ExactTime
    ) -> [String: ExactTime?] {
        let others = marks.filter { $0.user != sender }
            .filter { ($0[keyPath: mark]?.sent ?? .zero) >= sent }
        return Dictionary(
            others.map { ($0.user, $0[keyPath: mark]?.at) }, uniquingKeysWith: { $1 })
    }
}
