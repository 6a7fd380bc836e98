import HTTP
import LineProtocol

/// The requests of the API, each with the verb that answers it.
///
/// A chat is a user's own view of a conversation; a conversation is what its participants share.
/// Both are read under either name.
extension Resource {
    static let all: [Resource] = conversations + messages + chats + items + devices + session

    private static let conversations: [Resource] = [
        Resource(
            .get, "conversations", "CHATS",
            .list("conversations", .chat, ["partial", "next"]), noun: "conversations"),
        Resource(
            .get, "conversations/{conversation}", "CHAT", .one(.chat), noun: "conversation"),
        Resource(
            .post, "conversations", "CREATE", .status(["id"]),
            sources: [0: .newID("id"), 1: .userAnd("participants")]),
        Resource(
            .put, "conversations/{conversation}/participants/{user}", "INVITE", .status([]),
            sources: [1: .user]),
        Resource(
            .post, "conversations/{conversation}/leave", "LEAVECHAT", .status([])),
        Resource(
            .get, "conversations/{conversation}/marks", "MARKS", .list("marks", .mark, [])),
        Resource(
            .put, "conversations/{conversation}/marks/read", "READ", .status(["unread"])),
        Resource(
            .put, "conversations/{conversation}/marks/delivered", "DELIVERED",
            .status(["unread"])),
        Resource(
            .put, "conversations/{conversation}/typing", "TYPING", .status([]),
            sources: [2: .toggle("on")], isForSockets: true),
    ]

    private static let messages: [Resource] = [
        Resource(
            .post, "conversations/{conversation}/messages", "SEND",
            .status(["id", "at", "replicas"])),
        Resource(
            .get, "conversations/{conversation}/messages", "HISTORY",
            .list("messages", .message, ["next"])),
        Resource(
            .patch, "conversations/{conversation}/messages/{message}", "EDIT", .status(["at"])),
        Resource(
            .delete, "conversations/{conversation}/messages/{message}", "DELETE", .status([])),
        Resource(
            .get, "conversations/{conversation}/messages/{message}/edits", "EDITS",
            .list("edits", .edit, ["next"])),
        Resource(
            .post, "conversations/{conversation}/messages/{message}/restore", "RESTORE",
            .status([])),
        Resource(
            .get, "conversations/{conversation}/pins", "PINNED",
            .list("messages", .message, ["next"])),
        Resource(.put, "conversations/{conversation}/pins/{message}", "PIN", .status([])),
        Resource(.delete, "conversations/{conversation}/pins/{message}", "UNPIN", .status([])),
    ]

    private static let chats: [Resource] = [
        Resource(.get, "chats", "CHATS", .list("chats", .chat, ["partial", "next"])),
        Resource(.get, "chats/{conversation}", "CHAT", .one(.chat)),
        Resource(.delete, "chats/{conversation}", "HIDECHAT", .status([])),
        Resource(.put, "chats/{conversation}/archive", "ARCHIVE", .status([])),
        Resource(.delete, "chats/{conversation}/archive", "UNARCHIVE", .status([])),
        Resource(.get, "unread", "UNREAD", .list("unread", .unread, ["total", "partial", "next"])),
    ]

    private static let items: [Resource] = [
        Resource(.get, "profile", "PROFILE", .one(.profile), hasOptions: false),
        Resource(.patch, "profile", "PROFILE", .status([])),
        Resource(
            .get, "profiles", "PROFILES", .list("profiles", .profile, ["partial"]),
            sources: [1: .names("users")]),
        Resource(.post, "items", "ACTION ADD", .status(["id"])),
        Resource(.get, "items", "ACTIONS", .list("items", .action, ["partial", "next"])),
        Resource(.patch, "items/{item}", "ACTION EDIT", .status(["id"])),
        Resource(.delete, "items/{item}", "ACTION DELETE", .status(["id"])),
        Resource(.put, "items/{item}/done", "ACTION DONE", .status(["id"])),
        Resource(.delete, "items/{item}/done", "ACTION UNDONE", .status(["id"])),
    ]

    private static let devices: [Resource] = [
        Resource(.get, "blocks", "BLOCKED", .list("blocks", .block, ["next"])),
        Resource(
            .put, "blocks/{user}", "BLOCKUSER", .status([]), sources: [0: .user, 1: .path("user")]),
        Resource(
            .delete, "blocks/{user}", "UNBLOCKUSER", .status([]),
            sources: [0: .user, 1: .path("user")]),
        Resource(.get, "devices", "DEVICES", .list("devices", .device, ["next"])),
        Resource(.put, "devices/{device}", "DEVICE ADD", .status([])),
        Resource(.delete, "devices/{device}", "DEVICE REMOVE", .status([])),
        Resource(.put, "devices/{device}/viewing", "VIEWING", .status([])),
        Resource(
            .get, "devices/{device}/notifications", "NOTIFICATIONS",
            .list("notifications", .notification, ["next"])),
        Resource(.delete, "devices/{device}/notifications/{id}", "NOTIFIED", .status([])),
    ]

    private static let session: [Resource] = [
        Resource(.get, "token", "TOKEN", .status(["token"])),
        Resource(.get, "events", "WATCH", .status(["token"])),
        Resource(.delete, "events", "UNWATCH", .status([]), isForSockets: true),
    ]

    /// The token that a WebSocket is opened with.
    static let taken = Resource(.put, "token", "SINCE", .status([]))

    /// The verbs of users that no resource has, each with the reason.
    static let verbsWithout: [String: String] = [
        "SEED": "writes as two users at once",
        "FILE ADD": "an upload is one request", "FILE PUT": "an upload is one request",
        "FILE END": "an upload is one request", "FILE SHOW": "a file is sent as it is",
        "FILE GET": "a file is sent as it is",
    ]
}
