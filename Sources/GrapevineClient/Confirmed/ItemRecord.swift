/// What nodes have told of an action item, and what accepted operations have changed in it: each
/// field with the time of its last change.
///
/// A deletion holds against all else.
struct ItemRecord: Equatable, Codable, Sendable {
    let id: String
    var title = Register("")
    var due = Register(Maybe())
    var priority = Register(Maybe())
    var done = Register(Flag.no)
    /// The conversation and the message from which the item was made; they never change.
    var chat: String?
    var message: String?
    private(set) var isDeleted = false

    init(id: String) {
        self.id = id
    }

    mutating func delete() {
        self = ItemRecord(id: id)
        isDeleted = true
    }

    /// Whether nodes have told, of each field of the other record, a change at its time or later.
    func includes(_ other: ItemRecord) -> Bool {
        guard !isDeleted else { return true }
        return !other.isDeleted && title.includes(other.title) && due.includes(other.due)
            && priority.includes(other.priority) && done.includes(other.done)
    }

    mutating func merge(_ other: ItemRecord) {
        guard !isDeleted, !other.isDeleted else { return delete() }
        title.merge(other.title)
        due.merge(other.due)
        priority.merge(other.priority)
        done.merge(other.done)
        chat = chat ?? other.chat
        message = message ?? other.message
    }

    /// The time of the last change of any field.
    var lastChange: ExactTime {
        [title.time, due.time, priority.time, done.time].compactMap(\.self).max() ?? .zero
    }
}
