/// What nodes have told of a conversation, but for its messages and marks, and what accepted
/// operations have changed in it.
struct ConversationRecord: Equatable, Codable, Sendable {
    /// A row of the chat list as a node tells it: it holds as a whole, until it is read again.
    struct Row: Equatable, Codable, Sendable {
        var title: String?
        var participants: [String]
        /// The number of all participants; a list of chats has only the first ones.
        var participantCount: Int?
        var createdBy: String?
        var created: ExactTime
        /// The last message that the user sees, the time at which it was sent, and its text.
        var last: String?
        var lastFrom: String?
        var lastSent: ExactTime?
        var lastText: String?
        /// The number of unread messages up to the last one.
        var unread: Int
    }

    let id: String
    /// Nil if the list does not show the conversation.
    var row: Row?
    /// Whether the row is to be read again.
    var isStale = false
    /// Whether the user has archived the conversation.
    var archived = Register(Flag.no)
    /// The time at which the user last hid or left the conversation.
    ///
    /// An event about an unknown message from before does not add the message, which is shown only
    /// if an answer has it: then the node that hid the conversation lacked it.
    private(set) var cleared: ExactTime?
    /// The time from which on all messages are known: zero from the first message on, nil before
    /// the conversation is loaded.
    var completeFrom: ExactTime?
    /// The number of times that the user has hidden or left the conversation, or that the cluster
    /// did not know the token of the last event.
    ///
    /// An answer that was asked for before the last time does not say what is visible now. A
    /// message that was last told before stays in view until an answer lacks it.
    private(set) var epoch = 0
    /// The time at which the user last hid the conversation since the last invitation: a node that
    /// tells an earlier one, or none, lacks the hiding.
    private(set) var hidden: ExactTime?
    /// The token of the answer that has accepted the user's creation or leaving, until an answer
    /// includes it: another one may be as if nothing had happened.
    var written: String?

    init(id: String) {
        self.id = id
    }

    /// Notes that the user has hidden or left the conversation.
    ///
    /// An event with the time that is known clears again: two devices may have hidden different
    /// messages, and a node that lacked the hiding may have answered since.
    ///
    /// - Returns: whether messages from before are to go.
    mutating func clear(at time: ExactTime, hasLeft: Bool) -> Bool {
        guard time >= cleared ?? .zero else { return false }
        cleared = time
        hidden = hasLeft ? nil : time
        epoch += 1
        row = nil
        completeFrom = hasLeft ? nil : completeFrom.map { _ in .zero }
        return true
    }

    /// Notes that the events since some time are not told: what is known may have changed.
    mutating func doubt() {
        epoch += 1
        written = nil
    }

    /// Whether an answer is of a node that knows the user's last hiding: an answer of another one
    /// does not bring back what is hidden.
    ///
    /// - Parameter hiddenAt: the time of the last hiding that the node tells.
    func isKnown(to hiddenAt: ExactTime?) -> Bool {
        hidden.map { hiddenAt ?? .zero >= $0 } ?? true
    }

    /// Whether all messages after a time are known.
    func isComplete(after time: ExactTime) -> Bool {
        completeFrom.map { $0 <= time } ?? false
    }

    /// Whether an event or an answer about an unknown message of this time is from before the last
    /// hiding.
    func isCleared(_ sent: ExactTime?) -> Bool {
        guard let sent, let cleared else { return false }
        return sent <= cleared
    }
}
