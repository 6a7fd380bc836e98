/// Counts of the situations that a set of runs should reach.
package struct Coverage: Sendable {
    private(set) var counts: [String: Int] = [:]

    package init() {}

    mutating func count(_ name: String) { counts[name, default: 0] += 1 }

    package mutating func add(_ other: Coverage) {
        counts.merge(other.counts) { $0 + $1 }
    }

    /// The counts, ascending by name.
    package var list: [(name: String, count: Int)] {
        counts.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    /// Returns the required situations that did not occur in a large set of runs.
    package func missing(in world: WorldKind) -> [String] {
        let required =
            switch world {
            case .machines: Coverage.required
            case .members: Coverage.requiredOfMembers
            case .whole: Coverage.requiredOfWhole
            }
        return required.filter { counts[$0] == nil }
    }

    private static let requiredOfWhole: [String] =
        ClusterFault.Kind.allCases.map(\.rawValue)
        + [
            "CREATE", "SEND", "EDIT", "EDITS", "DELETE for=everyone", "DELETE for=me", "RESTORE",
            "HISTORY", "DIGEST", "STATUS", "MEMBERS", "SET", "WAIT", "PING", "TOKEN", "SINCE",
            "PIN", "UNPIN", "READ", "WATCH", "UNWATCH", "TYPING",
            "DEVICE ADD", "DEVICE REMOVE", "VIEWING", "NOTIFICATIONS", "NOTIFIED",
            "NOTIFIED only=true", "push due", "pushed: message", "pushed: withdrawn",
            "event delete", "event edit", "event member", "event message", "event pin",
            "event read", "event restore", "event typing", "event unpin",
            "notification due", "notification message", "notification withdrawn",
            "read as told", "told behind its causes",
            "watcher came back", "watcher moved", "watcher resumed",
        ]
        + [
            "broken by a cut", "client gone", "commit failed", "dial refused", "dial timed out",
            "folder emptied", "half-open", "line not ended", "lines held", "lost with its disk",
            "pipelined", "sent again", "stalled by a cut", "stopped in order", "tight queues",
            "full queue", "kept beside a lost disk", "move: join", "move: leave", "move: forget",
            "move: evict", "comes back: never", "comes back: old", "comes back: wiped",
        ]

    private static let requiredOfMembers = [
        "alive", "suspect", "dead", "evicted", "left", "refuted", "restarted", "twin",
        "closed link", "link given up", "refused dial",
        "chaos", "cut", "eviction", "eviction decided", "fast restart", "forget", "hundred", "join",
        "kill", "leave", "no eviction",
        "long pause", "partial cut", "reset", "rest", "short cut", "short pause",
        "start with a table", "start without a table", "twins",
    ]

    private static let required: [String] =
        Fault.Kind.allCases.map(\.rawValue)
        // These actions change something each time; none of them is ever only a repetition.
        + ["hide", "retract", "restore", "archive", "unarchive", "leave", "hide chat"]
        + [
            "create", "send", "edit", "pin", "unpin", "invite", "read", "deliver", "profile",
            "add item", "done", "undone", "delete item", "leave unless left",
        ].flatMap { [$0, "repeated \($0)"] }
        + [
            "HistoryQuery", "MessageQuery", "EditsQuery", "PinsQuery", "ChatsQuery", "UnreadQuery",
            "ItemsQuery", "ProfileQuery", "edit item",
        ]
        + ["push", "confirm", "summary", "hashes", "offer", "pull", "batch", "done", "broken"]
        + ["seek", "absent", "handover", "accept", "dropped", "left", "owner anew", "forwarded"]
        + [
            "alone", "bad-document-met", "commit-failed", "connection-lost", "crash-keeps-commit",
            "crash-loses-commit", "frame-dropped", "late-frames", "set-aside", "silence",
            "acknowledged on several", "repeated elsewhere", "shown later",
            "executed again", "executed late", "may be done", "stale",
        ]
        + [
            "edit × edit", "edit × retract", "hide × restore", "pin × pin", "pin × unpin",
            "send × send", "create × create", "archive × unarchive", "invite × leave",
            "pin × retract", "hide × retract", "edit × send",
        ].map { "conflict " + $0 }
}
