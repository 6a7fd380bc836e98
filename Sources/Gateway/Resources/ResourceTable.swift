import Admin
import HTTP
import LineProtocol

/// The requests of the API, each with the verb that answers it.
///
/// A conversation is what its participants share; the list of conversations is a user's own view of
/// them. Under `chats` the same list has its earlier name.
extension Resource {
    /// The requests in groups, each with the name that descriptions show.
    static let groups: [(tag: String, resources: [Resource])] = [
        ("conversations", conversations), ("messages", messages), ("pins", pins),
        ("marks", marks), ("items", items), ("profiles", profiles), ("blocks", blocks),
        ("devices", devices), ("events", events), ("chats", chats),
    ]

    static let all: [Resource] = groups.flatMap(\.resources)

    private static let conversations: [Resource] = [
        Resource(
            .get, "conversations", "CHATS", as: "listConversations",
            .list("conversations", .chat, ["partial", "next"]), adding: namesListed),
        Resource(
            .post, "conversations", "CREATE", as: "createConversation", .status(["id"]),
            sources: [0: .newID("id"), 1: .userAnd("participants")]),
        Resource(
            .get, "conversations/{conversation}", "CHAT", as: "getConversation", .one(.chat)),
        Resource(
            .delete, "conversations/{conversation}", "HIDECHAT", as: "hideConversation",
            .status([])),
        Resource(
            .get, "conversations/{conversation}/changes", "CHANGES", as: "listChanges",
            .list("changes", .change, [])),
        Resource(
            .put, "conversations/{conversation}/participants/{user}", "INVITE",
            as: "addParticipant", .status([]), sources: [1: .user]),
        Resource(
            .post, "conversations/{conversation}/leave", "LEAVECHAT", as: "leaveConversation",
            .status([]), adding: .always("again", "true")),
        Resource(
            .put, "conversations/{conversation}/archive", "ARCHIVE", as: "archiveConversation",
            .status([])),
        Resource(
            .delete, "conversations/{conversation}/archive", "UNARCHIVE",
            as: "unarchiveConversation", .status([])),
        Resource(
            .put, "conversations/{conversation}/typing", "TYPING", as: "setTyping", .status([]),
            sources: [2: .toggle("on")], isForSockets: true),
    ]

    private static let messages: [Resource] = [
        Resource(
            .post, "conversations/{conversation}/messages", "SEND", as: "sendMessage",
            .status(["id", "at", "replicas"])),
        Resource(
            .get, "conversations/{conversation}/messages", "HISTORY", as: "listMessages",
            .list("messages", .message, ["next"]),
            adding: .always("bytes", "\(AppLimits.pageBytes)")),
        Resource(
            .get, "conversations/{conversation}/messages/{message}", "MESSAGE",
            as: "getMessage", .one(.message)),
        Resource(
            .patch, "conversations/{conversation}/messages/{message}", "EDIT",
            as: "editMessage", .status(["at"])),
        Resource(
            .delete, "conversations/{conversation}/messages/{message}", "DELETE",
            as: "deleteMessage", .status([])),
        Resource(
            .get, "conversations/{conversation}/messages/{message}/edits", "EDITS",
            as: "listEdits", .list("edits", .edit, ["next"])),
        Resource(
            .post, "conversations/{conversation}/messages/{message}/restore", "RESTORE",
            as: "restoreMessage", .status([])),
    ]

    private static let pins: [Resource] = [
        Resource(
            .get, "conversations/{conversation}/pins", "PINNED", as: "listPins",
            .list("messages", .message, ["next"])),
        Resource(
            .put, "conversations/{conversation}/pins/{message}", "PIN", as: "pinMessage",
            .status([])),
        Resource(
            .delete, "conversations/{conversation}/pins/{message}", "UNPIN", as: "unpinMessage",
            .status([])),
    ]

    private static let marks: [Resource] = [
        Resource(
            .get, "conversations/{conversation}/marks", "MARKS", as: "listMarks",
            .list("marks", .mark, [])),
        Resource(
            .put, "conversations/{conversation}/marks/read", "READ", as: "markRead",
            .status(["unread"])),
        Resource(
            .put, "conversations/{conversation}/marks/delivered", "DELIVERED",
            as: "markDelivered", .status(["unread"])),
        Resource(
            .get, "unread", "UNREAD", as: "countUnread",
            .list("unread", .unread, ["total", "partial", "next"])),
    ]

    private static let items: [Resource] = [
        Resource(.post, "items", "ACTION ADD", as: "addItem", .status(["id"])),
        Resource(
            .get, "items", "ACTIONS", as: "listItems",
            .list("items", .action, ["partial", "next"])),
        Resource(.get, "items/{item}", "ACTION SHOW", as: "getItem", .one(.action)),
        Resource(.patch, "items/{item}", "ACTION EDIT", as: "editItem", .status(["id"])),
        Resource(.delete, "items/{item}", "ACTION DELETE", as: "deleteItem", .status(["id"])),
        Resource(.put, "items/{item}/done", "ACTION DONE", as: "finishItem", .status(["id"])),
        Resource(
            .delete, "items/{item}/done", "ACTION UNDONE", as: "reopenItem", .status(["id"])),
    ]

    private static let profiles: [Resource] = [
        Resource(
            .get, "profile", "PROFILE", as: "getProfile", .one(.profile), hasOptions: false),
        Resource(.patch, "profile", "PROFILE", as: "editProfile", .status([])),
        Resource(
            .get, "profiles", "PROFILES", as: "listProfiles",
            .list("profiles", .profile, ["partial"]), sources: [1: .names("users")]),
    ]

    private static let blocks: [Resource] = [
        Resource(
            .get, "blocks", "BLOCKED", as: "listBlocks", .list("blocks", .block, ["next"])),
        Resource(
            .put, "blocks/{user}", "BLOCKUSER", as: "blockUser", .status([]),
            sources: [0: .user, 1: .path("user")]),
        Resource(
            .delete, "blocks/{user}", "UNBLOCKUSER", as: "unblockUser", .status([]),
            sources: [0: .user, 1: .path("user")]),
    ]

    private static let devices: [Resource] = [
        Resource(
            .get, "devices", "DEVICES", as: "listDevices", .list("devices", .device, ["next"])),
        Resource(.put, "devices/{device}", "DEVICE ADD", as: "registerDevice", .status([])),
        Resource(.delete, "devices/{device}", "DEVICE REMOVE", as: "removeDevice", .status([])),
        // An app may go without a word: what it shows is renewed, or ends.
        Resource(
            .put, "devices/{device}/viewing", "VIEWING", as: "setViewing", .status([]),
            adding: .always("lease", "true")),
        Resource(
            .get, "devices/{device}/notifications", "NOTIFICATIONS", as: "listNotifications",
            .list("notifications", .notification, ["next"])),
        Resource(
            .delete, "devices/{device}/notifications/{id}", "NOTIFIED",
            as: "deleteNotification", .status([]), hasOptions: false,
            adding: .unless("upTo", "only", "true")),
    ]

    private static let events: [Resource] = [
        Resource(.get, "events", "WATCH", as: "watchEvents", .status(["token"])),
        Resource(
            .delete, "events", "UNWATCH", as: "unwatchEvents", .status([]), isForSockets: true),
        Resource(.get, "token", "TOKEN", as: "getToken", .status(["token"])),
    ]

    private static let chats: [Resource] = [
        Resource(
            .get, "chats", "CHATS", as: "listChats", .list("chats", .chat, ["partial", "next"]),
            adding: namesListed),
        Resource(.get, "chats/{conversation}", "CHAT", as: "getChat", .one(.chat)),
        Resource(.delete, "chats/{conversation}", "HIDECHAT", as: "hideChat", .status([])),
        Resource(
            .put, "chats/{conversation}/archive", "ARCHIVE", as: "archiveChat", .status([])),
        Resource(
            .delete, "chats/{conversation}/archive", "UNARCHIVE", as: "unarchiveChat",
            .status([])),
    ]

    private static let namesListed = Addition.always("names", "\(AppLimits.namesListed)")

    /// Whether the request has a newer name, which does the same.
    var isAlias: Bool { segments.first == .word("chats") }

    /// The token that a WebSocket is opened with.
    static let taken = Resource(.put, "token", "SINCE", as: "setToken", .status([]))

    /// The verbs of users that no resource has, each with the reason.
    static let verbsWithout: [String: String] = [
        "SEED": "writes as two users at once",
        "FILE ADD": "an upload is one request", "FILE PUT": "an upload is one request",
        "FILE END": "an upload is one request", "FILE SHOW": "a file is sent as it is",
        "FILE GET": "a file is sent as it is",
    ]
}
