import Chat
import Wire

/// The verbs of conversations and their messages.
extension Verb {
    static let chat: [Verb] = conversations + messages + views

    private static let conversations: [Verb] = [
        Verb(
            "CREATE", .writes, ["<conversation>", "<user>[,<user>…]"], options: [.title],
            example: "CREATE lunch alice,bob title=\"Lunch on Friday\"",
            about: "Creates a conversation; the first user is its creator.",
            endpoints: [
                HTTPEndpoint(
                    .post, "conversations", "createConversation", in: .conversations,
                    .status(["id", "at"]), sources: [0: .newID("id"), 1: .userAnd("participants")])
            ]
        ) { words throws(LineError) in
            let conversation = try words.name(0, as: ConversationID.self)
            let users = try words.names(1, as: UserID.self)
            let participants = Set(users).sorted()
            guard participants.count <= LineLimits.participantsMax else {
                throw .tooManyParticipants
            }
            let title = try words.field(.title) ?? ""
            return .write(
                Mutation(
                    CreateConversation(
                        participants: participants, title: title.isEmpty ? nil : title),
                    in: conversation, by: users[0]))
        },
        Verb(
            "INVITE", .writes, ["<conversation>", "<by>", "<user>"],
            example: "INVITE lunch alice carol",
            about: "Makes a user a participant, who sees everything, all of it unread.",
            endpoints: [
                HTTPEndpoint(
                    .put, "conversations/{conversation}/participants/{user}", "addParticipant",
                    in: .conversations, sources: [1: .user])
            ]
        ) { words throws(LineError) in
            let (conversation, by) = try words.conversationAndUser()
            return .write(Mutation(InviteUser(try words.name(2)), in: conversation, by: by))
        },
        Verb(
            "LEAVECHAT", .writes, ["<conversation>", "<user>"], options: [.again],
            example: "LEAVECHAT lunch carol", about: "Ends a user's part in a conversation.",
            endpoints: [
                HTTPEndpoint(
                    .post, "conversations/{conversation}/leave", "leaveConversation",
                    in: .conversations, adding: .always(.again, "true"))
            ]
        ) { words throws(LineError) in
            let (conversation, user) = try words.conversationAndUser()
            let mayHaveLeft = try words.choice(.again, of: Truth.self) == .yes
            return .write(
                Mutation(
                    LeaveConversation(mayHaveLeft: mayHaveLeft), in: conversation, by: user))
        },
    ]

    private static let messages: [Verb] = [
        Verb(
            "SEND", .writes, ["<conversation>", "<user>"],
            options: [.id, .type, .item, .blob, .preview],
            text: "<text>", example: "SEND lunch alice id=m1 noodles?",
            about: "Sends a message; the same id again is the same message.",
            endpoints: [
                HTTPEndpoint(
                    .post, "conversations/{conversation}/messages", "sendMessage", in: .messages,
                    .status(["id", "at", "replicas"]))
            ],
            build: .minting { words, newID throws(LineError) in
                let (conversation, sender) = try words.conversationAndUser()
                let id = try words.name(.id, as: MessageID.self)
                let type = try words.choice(.type, of: MessageType.self) ?? .text
                let item = try words.name(.item, as: ItemID.self)
                let attachment = try words.attachment()
                let text = try words.text(mayBeWhite: type == .image || type == .voice)
                return .write(
                    Mutation(
                        SendMessage(type: type, item: item, text: text, attachment),
                        of: id ?? MessageID(checked: newID()), in: conversation, by: sender),
                    isMinted: id == nil)
            }),
        Verb(
            "HISTORY", .reads, ["<conversation>", "<user>"],
            options: [.limit, .before, .after, .hidden, .bytes], reply: .page,
            example: "HISTORY lunch alice limit=2",
            about: "Shows the newest messages, or those just before or after one.",
            endpoints: [
                HTTPEndpoint(
                    .get, "conversations/{conversation}/messages", "listMessages", in: .messages,
                    .list("messages", View<MessageView>.message, ["next"]),
                    adding: .always(.bytes, "\(HTTPEndpoint.pageBytes)"))
            ]
        ) { words throws(LineError) in
            let (conversation, user) = try words.conversationAndUser()
            let limit = try words.number(.limit)
            let place = try words.place()
            let bytes = try words.number(.bytes)
            let query = HistoryQuery(
                conversation, place: place, limit: limit ?? LineLimits.historyDefault,
                bytesMax: bytes, showsHidden: try words.choice(.hidden, of: Truth.self) == .yes)
            guard let bytes else { return .read(query, of: user) }
            let isForward = if case .after = place { true } else { false }
            let cut = HistoryCut(isForward: isForward, bytesMax: bytes)
            return .list(query, of: user, ListPage(historyCut: cut))
        },
        Verb(
            "MESSAGE", .reads, ["<conversation>", "<message>", "<user>"],
            example: "MESSAGE lunch m1 bob", about: "Shows one message as HISTORY does.",
            endpoints: [
                HTTPEndpoint(
                    .get, "conversations/{conversation}/messages/{message}", "getMessage",
                    in: .messages, .one(View<MessageView>.message))
            ]
        ) { words throws(LineError) in
            let (conversation, message, user) = try words.messageAndUser()
            return .read(MessageQuery(message, in: conversation), of: user)
        },
        Verb(
            "EDIT", .writes, ["<conversation>", "<message>", "<user>"], text: "<text>",
            example: "EDIT lunch m1 alice noodles, or rice?",
            about: "Replaces the text of a message that this user sent.",
            endpoints: [
                HTTPEndpoint(
                    .patch, "conversations/{conversation}/messages/{message}", "editMessage",
                    in: .messages, .status(["at"]))
            ]
        ) { words throws(LineError) in
            let (conversation, message, user) = try words.messageAndUser()
            let text = try words.text(mayBeWhite: false)
            return .write(
                Mutation(EditMessage(text: text), of: message, in: conversation, by: user))
        },
        Verb(
            "EDITS", .reads, ["<conversation>", "<message>", "<user>"], options: .ofLists,
            reply: .list,
            example: "EDITS lunch m1 bob",
            about: "Shows every text that a message has had, the current one last.",
            endpoints: [
                HTTPEndpoint(
                    .get, "conversations/{conversation}/messages/{message}/edits", "listEdits",
                    in: .messages, .list("edits", View<EditView>.edit, ["next"]))
            ]
        ) { words throws(LineError) in
            let (conversation, message, user) = try words.messageAndUser()
            return .list(EditsQuery(message, in: conversation), of: user, try words.page())
        },
        Verb(
            "DELETE", .writes, ["<conversation>", "<message>", "<user>"], options: [.scope],
            example: "DELETE lunch m2 alice",
            about: "Deletes a message for this user, or for everyone.",
            endpoints: [
                HTTPEndpoint(
                    .delete, "conversations/{conversation}/messages/{message}", "deleteMessage",
                    in: .messages)
            ]
        ) { words throws(LineError) in
            let (conversation, message, user) = try words.messageAndUser()
            let scope = try words.choice(.scope, of: DeleteScope.self) ?? .me
            let mutation =
                scope == .everyone
                ? Mutation(RetractMessage(), of: message, in: conversation, by: user)
                : Mutation(HideMessage(), of: message, in: conversation, by: user)
            return .write(mutation)
        },
        Verb(
            "RESTORE", .writes, ["<conversation>", "<message>", "<user>"],
            example: "RESTORE lunch m2 alice",
            about: "Shows this user again what they deleted for themselves.",
            endpoints: [
                HTTPEndpoint(
                    .post, "conversations/{conversation}/messages/{message}/restore",
                    "restoreMessage", in: .messages)
            ]
        ) { words throws(LineError) in
            let (conversation, message, user) = try words.messageAndUser()
            return .write(Mutation(RestoreMessage(), of: message, in: conversation, by: user))
        },
        Verb(
            "PIN", .writes, ["<conversation>", "<message>", "<user>"],
            example: "PIN lunch m1 bob", about: "Pins a message for everyone.",
            endpoints: [
                HTTPEndpoint(
                    .put, "conversations/{conversation}/pins/{message}", "pinMessage", in: .pins)
            ]
        ) { words throws(LineError) in
            let (conversation, message, user) = try words.messageAndUser()
            return .write(Mutation(PinMessage(), of: message, in: conversation, by: user))
        },
        Verb(
            "UNPIN", .writes, ["<conversation>", "<message>", "<user>"],
            example: "UNPIN lunch m1 alice",
            about: "Takes the pin off a message, whoever pinned it.",
            endpoints: [
                HTTPEndpoint(
                    .delete, "conversations/{conversation}/pins/{message}", "unpinMessage",
                    in: .pins)
            ]
        ) { words throws(LineError) in
            let (conversation, message, user) = try words.messageAndUser()
            return .write(Mutation(UnpinMessage(), of: message, in: conversation, by: user))
        },
        Verb(
            "PINNED", .reads, ["<conversation>", "<user>"], options: .ofLists, reply: .list,
            example: "PINNED lunch alice",
            about: "Shows the pinned messages, the newest pin first.",
            endpoints: [
                HTTPEndpoint(
                    .get, "conversations/{conversation}/pins", "listPins", in: .pins,
                    .list("messages", View<MessageView>.message, ["next"]))
            ]
        ) { words throws(LineError) in
            let (conversation, user) = try words.conversationAndUser()
            return .list(PinsQuery(conversation), of: user, try words.page())
        },
    ]

    private static let views: [Verb] = [
        Verb(
            "ARCHIVE", .writes, ["<conversation>", "<user>"],
            example: "ARCHIVE lunch bob", about: "Archives a conversation for this user alone.",
            endpoints: [
                HTTPEndpoint(
                    .put, "conversations/{conversation}/archive", "archiveConversation",
                    in: .conversations),
                HTTPEndpoint(.put, "chats/{conversation}/archive", "archiveChat", in: .chats),
            ]
        ) { words throws(LineError) in
            let (conversation, user) = try words.conversationAndUser()
            return .write(Mutation(ArchiveChat(), in: conversation, by: user))
        },
        Verb(
            "UNARCHIVE", .writes, ["<conversation>", "<user>"],
            example: "UNARCHIVE lunch bob",
            about: "Takes a conversation out of this user's archive.",
            endpoints: [
                HTTPEndpoint(
                    .delete, "conversations/{conversation}/archive", "unarchiveConversation",
                    in: .conversations),
                HTTPEndpoint(.delete, "chats/{conversation}/archive", "unarchiveChat", in: .chats),
            ]
        ) { words throws(LineError) in
            let (conversation, user) = try words.conversationAndUser()
            return .write(Mutation(UnarchiveChat(), in: conversation, by: user))
        },
        Verb(
            "HIDECHAT", .writes, ["<conversation>", "<user>"],
            example: "HIDECHAT old bob",
            about: "Removes a conversation, and all that this node holds of it, from this user's "
                + "own view; what comes later brings it back.",
            endpoints: [
                HTTPEndpoint(
                    .delete, "conversations/{conversation}", "hideConversation",
                    in: .conversations),
                HTTPEndpoint(.delete, "chats/{conversation}", "hideChat", in: .chats),
            ]
        ) { words throws(LineError) in
            let (conversation, user) = try words.conversationAndUser()
            return .write(Mutation(HideChat(), in: conversation, by: user))
        },
        Verb(
            "CHATS", .reads, ["<user>"], options: [.show, .find] + .ofLists + [.names],
            reply: .list,
            example: "CHATS bob",
            about: "Lists a user's conversations, the latest first; with find=, those whose title, "
                + "participants and last text together contain all the words.",
            endpoints: [
                HTTPEndpoint(
                    .get, "conversations", "listConversations", in: .conversations,
                    .list("conversations", View<ListedChat>.chat, ["partial", "next"]),
                    adding: .always(.names, "\(HTTPEndpoint.namesListed)")),
                HTTPEndpoint(
                    .get, "chats", "listChats", in: .chats,
                    .list("chats", View<ListedChat>.chat, ["partial", "next"]),
                    adding: .always(.names, "\(HTTPEndpoint.namesListed)")),
            ]
        ) { words throws(LineError) in
            let user = try words.name(0, as: UserID.self)
            let shown = try words.choice(.show, of: ChatsQuery.Shown.self) ?? .active
            return .list(
                ChatsQuery(shown, finding: try words.search()), of: user, try words.page())
        },
        Verb(
            "CHAT", .reads, ["<conversation>", "<user>"],
            example: "CHAT lunch bob",
            about: "Shows one conversation as CHATS does, and who has archived it.",
            endpoints: [
                HTTPEndpoint(
                    .get, "conversations/{conversation}", "getConversation", in: .conversations,
                    .one(View<ListedChat>.chat)),
                HTTPEndpoint(
                    .get, "chats/{conversation}", "getChat", in: .chats, .one(View<ListedChat>.chat)
                ),
            ]
        ) { words throws(LineError) in
            let (conversation, user) = try words.conversationAndUser()
            return .read(ChatQuery(conversation), of: user)
        },
        Verb(
            "READ", .writes, ["<conversation>", "<user>"], optional: ["<message>"],
            example: "READ lunch bob m1",
            about: "Marks a message, or the newest, and all before it as read.",
            endpoints: [
                HTTPEndpoint(
                    .put, "conversations/{conversation}/marks/read", "markRead", in: .marks,
                    .status(["at", "unread"]))
            ]
        ) { words throws(LineError) in
            let (conversation, user) = try words.conversationAndUser()
            return .write(
                Mutation(MarkRead(try words.optionalName(2)), in: conversation, by: user))
        },
        Verb(
            "DELIVERED", .writes, ["<conversation>", "<user>"], optional: ["<message>"],
            example: "DELIVERED lunch alice m3",
            about: "Marks a message, or the newest, and all before it as delivered.",
            endpoints: [
                HTTPEndpoint(
                    .put, "conversations/{conversation}/marks/delivered", "markDelivered",
                    in: .marks, .status(["at", "unread"]))
            ]
        ) { words throws(LineError) in
            let (conversation, user) = try words.conversationAndUser()
            return .write(
                Mutation(MarkDelivered(try words.optionalName(2)), in: conversation, by: user))
        },
        Verb(
            "MARKS", .reads, ["<conversation>", "<user>"], reply: .list,
            example: "MARKS lunch alice",
            about: "Shows up to where each participant has read, and when they marked it.",
            endpoints: [
                HTTPEndpoint(
                    .get, "conversations/{conversation}/marks", "listMarks", in: .marks,
                    .list("marks", View<MarkView>.mark))
            ]
        ) { words throws(LineError) in
            let (conversation, user) = try words.conversationAndUser()
            return .read(MarksQuery(conversation), of: user)
        },
        Verb(
            "CHANGES", .reads, ["<conversation>", "<user>"], options: [.changeLimit],
            reply: .list, example: "CHANGES lunch alice",
            about: "Shows who joined and who left, the latest of the last "
                + "\(ParticipantChanges.countMax) changes first.",
            endpoints: [
                HTTPEndpoint(
                    .get, "conversations/{conversation}/changes", "listChanges", in: .conversations,
                    .list("changes", View<ParticipantChange>.change))
            ]
        ) { words throws(LineError) in
            let (conversation, user) = try words.conversationAndUser()
            let limit = try words.number(.changeLimit) ?? LineLimits.changesDefault
            return .read(ChangesQuery(conversation, limit: limit), of: user)
        },
        Verb(
            "UNREAD", .reads, ["<user>"], options: .ofLists, reply: .list,
            example: "UNREAD alice", about: "Counts what a user has not read, by conversation.",
            endpoints: [
                HTTPEndpoint(
                    .get, "unread", "countUnread", in: .marks,
                    .list("unread", View<UnreadCount>.unread, ["total", "partial", "next"]))
            ]
        ) { words throws(LineError) in
            .list(UnreadQuery(), of: try words.name(0), try words.page())
        },
    ]
}

extension ParsedLine {
    func conversationAndUser() throws(LineError) -> (ConversationID, UserID) {
        (try name(0), try name(1))
    }

    func messageAndUser() throws(LineError) -> (ConversationID, MessageID, UserID) {
        (try name(0), try name(1), try name(2))
    }

    /// Returns the message text that a request specifies.
    ///
    /// - Parameter mayBeWhite: whether the text may be empty or consist of white space alone.
    func text(mayBeWhite: Bool) throws(LineError) -> String {
        let text = try text()
        if !mayBeWhite, isWhite(text) { throw .messageEmpty }
        return text
    }

    /// Returns the page of a list that a request specifies.
    func page() throws(LineError) -> ListPage {
        let limit = try number(.listLimit)
        var after: ListPosition?
        if let cursor = try value(.from) {
            after = ListPosition(cursor: cursor)
            guard after != nil else { throw refusedOption("from= is what next= said") }
        }
        let names = try number(.names)
        return ListPage(limit: limit, after: after, namesMax: names)
    }

    /// Returns the words that a list is searched for; nil if the line lacks the option.
    func search() throws(LineError) -> WordSearch? {
        guard let text = try field(.find) else { return nil }
        guard let search = WordSearch(text) else { throw refusedOption("Empty find=") }
        return search
    }

    /// Returns the position of a page of messages: the newest, or those before or after a message.
    func place() throws(LineError) -> HistoryQuery.Place {
        let before = try name(.before, as: MessageID.self)
        let after = try name(.after, as: MessageID.self)
        switch (before, after) {
        case (nil, nil): return .newest
        case (let before?, nil): return .before(before)
        case (nil, let after?): return .after(after)
        case (_?, _?): throw refused("before= and after= exclude each other")
        }
    }
}

extension [Option] {
    /// The options that every verb for a list has.
    static let ofLists: [Option] = [.listLimit, .from]
}
