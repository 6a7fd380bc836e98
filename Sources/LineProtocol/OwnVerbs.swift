import Chat
import Wire

/// The verbs of data that belongs to one user: the profile, blocked users, action items, events.
extension Verb {
    static let own: [Verb] = items + blocks + feeds

    private static let blocks: [Verb] = [
        Verb(
            "BLOCKUSER", .writes, ["<user>", "<other>"], example: "BLOCKUSER bob mallory",
            about: "Hides from a user what another sends from now on, and keeps the other from "
                + "adding them.",
            endpoints: [
                HTTPEndpoint(
                    .put, "blocks/{user}", "blockUser", in: .blocks,
                    sources: [0: .user, 1: .path("user")])
            ]
        ) { words throws(LineError) in
            let (user, other) = try words.userAndOther()
            return .write(Mutation(BlockUser(other), by: user))
        },
        Verb(
            "UNBLOCKUSER", .writes, ["<user>", "<other>"], example: "UNBLOCKUSER bob mallory",
            about: "Shows a user again what another sends and has sent.",
            endpoints: [
                HTTPEndpoint(
                    .delete, "blocks/{user}", "unblockUser", in: .blocks,
                    sources: [0: .user, 1: .path("user")])
            ]
        ) { words throws(LineError) in
            let (user, other) = try words.userAndOther()
            return .write(Mutation(UnblockUser(other), by: user))
        },
        Verb(
            "BLOCKED", .reads, ["<user>"], options: .ofLists, example: "BLOCKED bob",
            about: "Lists whom a user has blocked, and since when.",
            endpoints: [
                HTTPEndpoint(
                    .get, "blocks", "listBlocks", in: .blocks,
                    .list("blocks", View<BlockView>.block, ["next"]))
            ]
        ) { words throws(LineError) in
            let user = try words.name(0, as: UserID.self)
            return .list(BlocksQuery(of: user), of: user, try words.page())
        },
    ]

    private static let items: [Verb] = [
        Verb(
            "PROFILE", .reads, ["<user>"], options: [.name, .email, .photo],
            example: "PROFILE alice name=\"Alice A.\" email=alice@example.org",
            about: "Shows what a user tells of themselves, or sets the fields that are given.",
            endpoints: [
                HTTPEndpoint(
                    .get, "profile", "getProfile", in: .profiles, .one(View<ProfileView>.profile),
                    hasOptions: false),
                HTTPEndpoint(.patch, "profile", "editProfile", in: .profiles),
            ]
        ) { words throws(LineError) in
            let user = try words.name(0, as: UserID.self)
            let edit = Profile.Edit(
                name: try words.clearable(.name), email: try words.clearable(.email),
                photo: try words.clearable(.photo))
            return edit.isEmpty
                ? .read(ProfileQuery(of: user), of: user)
                : .write(Mutation(SetProfile(edit), by: user))
        },
        Verb(
            "PROFILES", .reads, ["<user>", "<other>[,<other>…]"],
            example: "PROFILES bob alice,carol",
            about: "Shows the profiles of other users; those who have none are left out.",
            endpoints: [
                HTTPEndpoint(
                    .get, "profiles", "listProfiles", in: .profiles,
                    .list("profiles", View<ProfileView>.profile, ["partial"]),
                    sources: [1: .names("users")])
            ]
        ) { words throws(LineError) in
            let user = try words.name(0, as: UserID.self)
            let others = Set(try words.names(1, as: UserID.self)).sorted()
            guard others.count <= LineLimits.participantsMax else { throw .tooManyProfiles }
            return .read(ProfilesQuery(among: others), of: user)
        },
        Verb(
            "ACTION ADD", .writes, ["<user>"],
            options: [.id, .chat, .message, .due, .priority], text: "<title>",
            example: "ACTION ADD bob id=i1 chat=lunch message=m1 due=2026-11-27T12:00:00+01:00 "
                + "priority=high reserve a table",
            about: "Adds an action item; the same id again is the same item.",
            endpoints: [
                HTTPEndpoint(.post, "items", "addItem", in: .items, .status(["id", "at"]))
            ],
            build: .minting { words, newID throws(LineError) in
                let user = try words.name(0, as: UserID.self)
                let item = try words.name(.id, as: ItemID.self)
                let newItem = try words.newItem()
                return .write(
                    Mutation(AddItem(newItem), on: item ?? ItemID(checked: newID()), by: user),
                    isMinted: item == nil)
            }),
        Verb(
            "ACTION EDIT", .writes, ["<user>", "<item>"], options: [.due, .priority, .newTitle],
            example: "ACTION EDIT bob i1 priority= title=\"reserve a large table\"",
            about: "Changes the fields of an action item that are given.",
            endpoints: [
                HTTPEndpoint(.patch, "items/{item}", "editItem", in: .items, .status(["id", "at"]))
            ]
        ) { words throws(LineError) in
            let (user, item) = try words.userAndItem()
            let title = try words.field(.newTitle)
            if let title, isWhite(title) { throw .titleEmpty }
            let edit = Item.Edit(
                title: title.map { FieldText($0) }, due: try words.time(.due),
                priority: try words.clearable(.priority, of: ItemPriority.self))
            return .write(Mutation(EditItem(edit), on: item, by: user))
        },
        Verb(
            "ACTION SHOW", .reads, ["<user>", "<item>"], example: "ACTION SHOW bob i1",
            about: "Shows one action item as ACTIONS does.",
            endpoints: [
                HTTPEndpoint(
                    .get, "items/{item}", "getItem", in: .items, .one(View<ItemView>.action))
            ]
        ) { words throws(LineError) in
            let (user, item) = try words.userAndItem()
            return .read(ItemQuery(item), of: user)
        },
        Verb(
            "ACTION DONE", .writes, ["<user>", "<item>"], example: "ACTION DONE bob i1",
            about: "Marks an action item as done.",
            endpoints: [
                HTTPEndpoint(
                    .put, "items/{item}/done", "finishItem", in: .items, .status(["id", "at"]))
            ]
        ) { words throws(LineError) in
            let (user, item) = try words.userAndItem()
            return .write(Mutation(FinishItem(true), on: item, by: user))
        },
        Verb(
            "ACTION UNDONE", .writes, ["<user>", "<item>"],
            example: "ACTION UNDONE bob i1", about: "Marks an action item as not done.",
            endpoints: [
                HTTPEndpoint(
                    .delete, "items/{item}/done", "reopenItem", in: .items, .status(["id", "at"]))
            ]
        ) { words throws(LineError) in
            let (user, item) = try words.userAndItem()
            return .write(Mutation(FinishItem(false), on: item, by: user))
        },
        Verb(
            "ACTION DELETE", .writes, ["<user>", "<item>"],
            example: "ACTION DELETE bob i1", about: "Deletes an action item for good.",
            endpoints: [
                HTTPEndpoint(
                    .delete, "items/{item}", "deleteItem", in: .items, .status(["id", "at"]))
            ]
        ) { words throws(LineError) in
            let (user, item) = try words.userAndItem()
            return .write(Mutation(DeleteItem(), on: item, by: user))
        },
        Verb(
            "ACTIONS", .reads, ["<user>"], options: .ofLists, example: "ACTIONS bob",
            about: "Lists a user's action items by due time.",
            endpoints: [
                HTTPEndpoint(
                    .get, "items", "listItems", in: .items,
                    .list("items", View<ItemView>.action, ["partial", "next"]))
            ]
        ) { words throws(LineError) in
            .list(ItemsQuery(), of: try words.name(0), try words.page())
        },
        Verb(
            "SEED", .writes,
            example: "SEED",
            about: "Adds sample data, once: two users, two conversations, action items."
        ) { _ throws(LineError) in .seed },
    ]

    private static let feeds: [Verb] = [
        Verb(
            "TYPING", .operates, ["<conversation>", "<user>", choices(of: Toggle.self)],
            options: [.stream],
            example: "TYPING lunch bob on",
            about: "Shows the others that a user types, for six seconds, or that they stopped.",
            endpoints: [
                HTTPEndpoint(
                    .put, "conversations/{conversation}/typing", "setTyping", in: .conversations,
                    .status([]), sources: [2: .toggle("on")], carriers: .socketOr(.stream))
            ]
        ) { words throws(LineError) in .typing(try Request.Typing(words)) },
        Verb(
            "WATCH", .operates, ["<user>"], options: [.since, .tokens, .heartbeat, .level, .times],
            example: "WATCH alice tokens=off",
            about: "Tells what happens to a user from here on, or since a token, as EVENT lines.",
            endpoints: [
                HTTPEndpoint(
                    .get, "events", "watchEvents", in: .events,
                    .status(["token", "stream", "editWindow", "now"]))
            ]
        ) { words throws(LineError) in .watch(try Request.Watch(words)) },
        Verb(
            "UNWATCH", .operates, example: "UNWATCH", about: "Ends what WATCH began.",
            endpoints: [
                HTTPEndpoint(
                    .delete, "events", "unwatchEvents", in: .events, .status([]),
                    carriers: .socket)
            ]
        ) { _ throws(LineError) in .unwatch },
    ]
}

extension ParsedLine {
    func userAndOther() throws(LineError) -> (UserID, UserID) { (try name(0), try name(1)) }

    func userAndItem() throws(LineError) -> (UserID, ItemID) { (try name(0), try name(1)) }

    /// Returns the action item that `ACTION ADD` describes; a blank title is refused.
    func newItem() throws(LineError) -> Item.NewItem {
        let title = try text()
        if isWhite(title) { throw .titleEmpty }
        guard title.utf8.count <= LineLimits.fieldBytesMax else { throw .titleTooLong }
        return Item.NewItem(
            title: title, due: try time(.due)?.value,
            priority: try clearable(.priority, of: ItemPriority.self)?.value,
            chat: try name(.chat), message: try name(.message))
    }

    /// Returns a text, or an empty value to clear the field; nil if the line lacks the option.
    func clearable(_ option: Option) throws(LineError) -> Profile.Text? {
        try field(option).map { Clearable($0.isEmpty ? nil : FieldText($0)) }
    }
}

extension LineError {
    public static let titleEmpty = LineError(400, "Title cannot be empty")

    static let titleTooLong = LineError(
        413, "Title too long: at most \(LineLimits.fieldBytesMax) bytes")
}

extension ParsedLine {
    /// Returns a due time, or an empty value to clear the field; nil if the line lacks the option.
    func time(_ option: Option) throws(LineError) -> Clearable<DueTime>? {
        guard let value = try value(option) else { return nil }
        guard !value.isEmpty else { return Clearable(nil) }
        guard let time = LineTime.parse(value) else {
            throw refusedOption("\(option.name)= is a time such as 2026-11-21T06:00:00Z")
        }
        return Clearable(DueTime(milliseconds: time))
    }

    /// Returns a choice, or an empty value to clear the field; nil if the line lacks the option.
    func clearable<Choice: CaseIterable & RawRepresentable<String>>(
        _ option: Option, of _: Choice.Type
    ) throws(LineError) -> Clearable<Choice>? {
        guard let value = try value(option) else { return nil }
        guard !value.isEmpty else { return Clearable(nil) }
        guard let choice = Choice(rawValue: value) else {
            throw refusedOption("\(option.name)= is one of \(choices(of: Choice.self))")
        }
        return Clearable(choice)
    }
}
