import LineProtocol
import Node

extension Request {
    /// The kind of work that the request causes.
    package var kind: RequestKind {
        switch self {
        case .create, .send, .edit, .delete, .restore, .invite, .leaveChat, .pin, .unpin, .archive,
            .unarchive, .read, .delivered, .actionAdd, .actionEdit, .actionDone, .actionUndone,
            .actionDelete, .hideChat, .seed, .deviceAdd, .deviceRemove, .viewing, .notified:
            .write
        case .profile(let profile):
            profile.isShown ? .read : .write
        case .history, .edits, .pinned, .chats, .chat, .marks, .unread, .actions, .devices,
            .notifications:
            .read
        case .help, .auth, .ping, .status, .ready, .metrics, .members, .shards, .owners, .digest,
            .vector,
            .set, .token, .since,
            .wait, .block, .unblock, .join, .leave, .forget, .backup,
            .scrub, .shutdown, .watch, .unwatch, .typing:
            .other
        }
    }
}
