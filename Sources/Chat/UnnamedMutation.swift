import Wire

/// The ids of new messages and items that a client leaves to the node that reads its line.
extension Mutation {
    /// Whether the mutation creates a message or an item whose id is still empty.
    public var isUnnamed: Bool {
        switch (subject, action) {
        case (_, .message(let id, _)): id.text.isEmpty
        case (.item(let id), _): id.text.isEmpty
        default: false
        }
    }

    /// Returns an unnamed mutation with the id that a node has created for it.
    public func named(_ id: String) -> Mutation {
        switch (subject, action) {
        case (_, .message(_, let change)):
            Mutation(.message(MessageID(checked: id), change), of: subject, by: user)
        case (.item, _): Mutation(action, of: .item(ItemID(checked: id)), by: user)
        default: self
        }
    }
}

extension MessageID {
    /// The id of a new message until a node has created one.
    public static var unnamed: MessageID { MessageID(checked: "") }
}

extension ItemID {
    /// The id of a new item until a node has created one.
    public static var unnamed: ItemID { ItemID(checked: "") }
}
