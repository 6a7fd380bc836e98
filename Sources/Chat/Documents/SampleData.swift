import Wire

/// The data that `SEED` adds, under fixed ids: a repetition, also on another node, adds nothing.
public enum SampleData {
    private static let alice = UserID(checked: "alice")
    private static let bob = UserID(checked: "bob")
    private static let weekend = ConversationID(checked: "seed-weekend")
    private static let project = ConversationID(checked: "seed-project")

    /// In the order of execution: a conversation's messages follow its creation.
    public static let mutations: [Mutation] =
        [
            profile(of: alice, name: "Alice Martin", email: "alice@example.org"),
            profile(of: bob, name: "Bob Keller", email: "bob@example.org"),
        ] + talk(weekend, titled: "Weekend", by: alice, hiking)
        + talk(project, titled: "Project", by: bob, planning) + items

    private static let hiking = [
        (alice, "Shall we go hiking on Saturday?"),
        (bob, "Yes! The lake or the ridge?"),
        (alice, "The ridge, if the weather holds."),
        (bob, "I can bring the map, you bring lunch?"),
        (alice, "Deal. 8:00 at the station."),
    ]

    private static let planning = [
        (bob, "The demo is on Thursday."),
        (alice, "The slides are nearly done."),
        (bob, "Could you review my draft until Wednesday?"),
        (alice, "Sure, send it over."),
    ]

    private static let items: [Mutation] = [
        item(
            "seed-item-1", of: alice,
            Item.NewItem(
                title: "Prepare lunch for the hike", priority: .medium, chat: weekend,
                message: message(4, in: weekend))),
        item(
            "seed-item-2", of: alice,
            Item.NewItem(
                title: "Review Bob's draft", priority: .high, chat: project,
                message: message(3, in: project))),
        item("seed-item-3", of: bob, Item.NewItem(title: "Renew the library card")),
    ]

    private static func profile(of user: UserID, name: String, email: String) -> Mutation {
        let edit = Profile.Edit(
            name: Clearable(FieldText(name)), email: Clearable(FieldText(email)), photo: nil)
        return Mutation(SeedProfile(edit), by: user)
    }

    private static func message(_ number: Int, in conversation: ConversationID) -> MessageID {
        MessageID(checked: "\(conversation)-\(number)")
    }

    private static func talk(
        _ conversation: ConversationID, titled title: String, by creator: UserID,
        _ lines: [(UserID, String)]
    ) -> [Mutation] {
        let creation = Mutation(
            CreateConversation(participants: [alice, bob], title: title), in: conversation,
            by: creator)
        let messages = lines.enumerated().map { index, line in
            Mutation(
                SeedMessage(text: line.1), of: message(index + 1, in: conversation),
                in: conversation,
                by: line.0)
        }
        return [creation] + messages
    }

    private static func item(_ id: String, of owner: UserID, _ newItem: Item.NewItem) -> Mutation {
        Mutation(AddItem(newItem), on: ItemID(checked: id), by: owner)
    }
}
