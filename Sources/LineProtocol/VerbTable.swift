/// All verbs of the protocol, in the order in which `HELP` prints them.
///
/// A verb is added by one row here and one case of `Request`.
extension Verb {
    public static let all: [Verb] = chat + own + devices + cluster

    private static let chat: [Verb] = [
        Verb(
            "CREATE", ["<conversation>", "<user>[,<user>…]"], options: [.title],
            about: "Creates a conversation; the first user is its creator."
        ) { words throws(LineError) in .create(try Request.Create(words)) },
        Verb(
            "INVITE", ["<conversation>", "<by>", "<user>"],
            about: "Makes a user a participant, who sees everything, all of it unread."
        ) { words throws(LineError) in .invite(try Request.Invite(words)) },
        Verb(
            "LEAVECHAT", ["<conversation>", "<user>"],
            about: "Ends a user's part in a conversation."
        ) { words throws(LineError) in .leaveChat(try Request.OfConversation(words)) },
        Verb(
            "SEND", ["<conversation>", "<user>"], options: [.id, .type, .item], text: "<text>",
            about: "Sends a message; the same id again is the same message."
        ) { words throws(LineError) in .send(try Request.Send(words)) },
        Verb(
            "HISTORY", ["<conversation>", "<user>"], options: [.limit, .before, .after],
            about: "Shows the newest messages, or those just before or after one."
        ) { words throws(LineError) in .history(try Request.History(words)) },
        Verb(
            "EDIT", ["<conversation>", "<message>", "<user>"], text: "<text>",
            about: "Replaces the text of a message that this user sent."
        ) { words throws(LineError) in .edit(try Request.Edit(words)) },
        Verb(
            "EDITS", ["<conversation>", "<message>", "<user>"],
            about: "Shows every text that a message has had, the current one last."
        ) { words throws(LineError) in .edits(try Request.OfMessage(words)) },
        Verb(
            "DELETE", ["<conversation>", "<message>", "<user>"], options: [.scope],
            about: "Deletes a message for this user, or for everyone."
        ) { words throws(LineError) in .delete(try Request.Delete(words)) },
        Verb(
            "RESTORE", ["<conversation>", "<message>", "<user>"],
            about: "Shows this user again what they deleted for themselves."
        ) { words throws(LineError) in .restore(try Request.OfMessage(words)) },
        Verb(
            "PIN", ["<conversation>", "<message>", "<user>"],
            about: "Pins a message for everyone."
        ) { words throws(LineError) in .pin(try Request.OfMessage(words)) },
        Verb(
            "UNPIN", ["<conversation>", "<message>", "<user>"],
            about: "Takes the pin off a message, whoever pinned it."
        ) { words throws(LineError) in .unpin(try Request.OfMessage(words)) },
        Verb(
            "PINNED", ["<conversation>", "<user>"],
            about: "Shows the pinned messages, the newest pin first."
        ) { words throws(LineError) in .pinned(try Request.OfConversation(words)) },
        Verb(
            "ARCHIVE", ["<conversation>", "<user>"],
            about: "Archives a conversation for this user alone."
        ) { words throws(LineError) in .archive(try Request.OfConversation(words)) },
        Verb(
            "UNARCHIVE", ["<conversation>", "<user>"],
            about: "Takes a conversation out of this user's archive."
        ) { words throws(LineError) in .unarchive(try Request.OfConversation(words)) },
        Verb(
            "HIDECHAT", ["<conversation>", "<user>"],
            about: "Removes a conversation, and all that this node holds of it, from this user's "
                + "own view; what comes later brings it back."
        ) { words throws(LineError) in .hideChat(try Request.OfConversation(words)) },
        Verb(
            "CHATS", ["<user>"], options: [.show],
            about: "Lists a user's conversations, the latest first."
        ) { words throws(LineError) in .chats(try Request.Chats(words)) },
        Verb(
            "CHAT", ["<conversation>", "<user>"],
            about: "Shows one conversation as CHATS does, and who has archived it."
        ) { words throws(LineError) in .chat(try Request.OfConversation(words)) },
        Verb(
            "READ", ["<conversation>", "<user>"], optional: ["<message>"],
            about: "Marks a message, or the newest, and all before it as read."
        ) { words throws(LineError) in .read(try Request.UpTo(words)) },
        Verb(
            "DELIVERED", ["<conversation>", "<user>"], optional: ["<message>"],
            about: "Marks a message, or the newest, and all before it as delivered."
        ) { words throws(LineError) in .delivered(try Request.UpTo(words)) },
        Verb(
            "MARKS", ["<conversation>", "<user>"],
            about: "Shows up to where each participant has read, and when they marked it."
        ) { words throws(LineError) in .marks(try Request.OfConversation(words)) },
        Verb(
            "UNREAD", ["<user>"], about: "Counts what a user has not read, by conversation."
        ) { words throws(LineError) in .unread(try words.name(0)) },
    ]

    private static let own: [Verb] = [
        Verb(
            "PROFILE", ["<user>"], options: [.name, .email, .photo],
            about: "Shows what a user tells of themselves, or sets the fields that are given."
        ) { words throws(LineError) in .profile(try Request.Profile(words)) },
        Verb(
            "ACTION ADD", ["<user>"], options: [.id, .chat, .message, .due, .priority],
            text: "<title>", about: "Adds an action item; the same id again is the same item."
        ) { words throws(LineError) in .actionAdd(try Request.ActionAdd(words)) },
        Verb(
            "ACTION EDIT", ["<user>", "<item>"], options: [.due, .priority, .title],
            about: "Changes the fields of an action item that are given."
        ) { words throws(LineError) in .actionEdit(try Request.ActionEdit(words)) },
        Verb(
            "ACTION DONE", ["<user>", "<item>"], about: "Marks an action item as done."
        ) { words throws(LineError) in .actionDone(try Request.OfItem(words)) },
        Verb(
            "ACTION UNDONE", ["<user>", "<item>"], about: "Marks an action item as not done."
        ) { words throws(LineError) in .actionUndone(try Request.OfItem(words)) },
        Verb(
            "ACTION DELETE", ["<user>", "<item>"], about: "Deletes an action item for good."
        ) { words throws(LineError) in .actionDelete(try Request.OfItem(words)) },
        Verb(
            "ACTIONS", ["<user>"], about: "Lists a user's action items by due time."
        ) { words throws(LineError) in .actions(try words.name(0)) },
        Verb(
            "SEED", about: "Adds sample data, once: two users, two conversations, action items."
        ) { _ throws(LineError) in .seed },
        Verb(
            "TYPING", ["<conversation>", "<user>", choices(of: Toggle.self)],
            about: "Shows the others that a user types, for six seconds, or that they stopped."
        ) { words throws(LineError) in .typing(try Request.Typing(words)) },
        Verb(
            "WATCH", ["<user>"], options: [.since, .tokens],
            about: "Tells what happens to a user from here on, or since a token, as EVENT lines."
        ) { words throws(LineError) in .watch(try Request.Watch(words)) },
        Verb("UNWATCH", about: "Ends what WATCH began.") { _ throws(LineError) in .unwatch },
    ]

    private static let cluster: [Verb] = [
        Verb(
            "HELP", optional: ["<verb>|limits", "<word>"],
            about: "Tells how each verb, or this one, is written; or what is limited, and how. "
                + "The whole protocol, with examples, is cluster/PROTOCOL.md."
        ) { words throws(LineError) in .help(words.help()) },
        Verb(
            "AUTH", ["<secret>"],
            about: "Signs in with the cluster's key; a port beyond this machine asks for it first."
        ) { words throws(LineError) in .auth(try words.secret(0)) },
        Verb("PING", about: "Answers pong.") { _ throws(LineError) in .ping },
        Verb(
            "STATUS",
            about: "Tells how this node is doing, and whether it may be stopped (safe=true)."
        ) { _ throws(LineError) in .status },
        Verb(
            "READY", about: "Answers OK where this node should get requests, else 503 with why not."
        ) { _ throws(LineError) in .ready },
        Verb(
            "METRICS", about: "Tells of this node in numbers, as Prometheus reads them."
        ) { _ throws(LineError) in .metrics },
        Verb(
            "MEMBERS", about: "Tells of every member of the cluster, as this node sees it."
        ) { _ throws(LineError) in .members },
        Verb(
            "SHARDS", about: "Shows who owns each shard, in order, and what is held of it here."
        ) { _ throws(LineError) in .shards },
        Verb(
            "OWNERS", ["<conversation>"],
            about: "Shows the shard of a conversation, whether it exists or not."
        ) { words throws(LineError) in .owners(try words.name(0)) },
        Verb(
            "DIGEST", optional: ["<shard>"],
            about: "Shows a hash of each shard held here; equal lines mean equal content."
        ) { words throws(LineError) in
            .digest(words.argumentCount > 0 ? try words.shard(0) : nil)
        },
        Verb(
            "VECTOR", ["<shard>"], about: "Shows which changes of each replica a shard holds."
        ) { words throws(LineError) in .vector(try words.shard(0)) },
        Verb(
            "SET", options: [.ack, .strict],
            about: "Sets on how many owners this connection's writes wait to be stored, and "
                + "whether one that is on fewer after a second is answered 504."
        ) { words throws(LineError) in .set(try Request.SetLevel(words)) },
        Verb(
            "WAIT", ["<replicas>", "<milliseconds>"],
            about: "Waits until this connection's writes are stored on that many owners."
        ) { words throws(LineError) in .wait(try Request.Wait(words)) },
        Verb(
            "TOKEN", about: "Gives a word that stands for all that this connection has seen."
        ) { _ throws(LineError) in .token },
        Verb(
            "SINCE", ["<token>"],
            about: "Shows this connection nothing older than a token, which any node may have made."
        ) { words throws(LineError) in .since(try words.token(0)) },
        Verb(
            "BLOCK", ["<node>"], optional: [choices(of: BlockDirection.self)],
            about: "Cuts this node off from another, as a cut cable would; for tests."
        ) { words throws(LineError) in .block(try Request.Block(words)) },
        Verb(
            "UNBLOCK", ["<node>|*"], about: "Ends what BLOCK did to a node, or to all."
        ) { words throws(LineError) in .unblock(try words.nameOrAll(0)) },
        Verb(
            "JOIN", ["<addr>"], about: "Joins the cluster of the node at this gossip address."
        ) { words throws(LineError) in .join(try words.address(0)) },
        Verb(
            "LEAVE", about: "Hands over all that this node holds, then stops it for good."
        ) { _ throws(LineError) in .leave },
        Verb(
            "FORGET", ["<node>"],
            about: "Gives up a dead node that is not coming back; others take over its shards."
        ) { words throws(LineError) in .forget(try words.name(0)) },
        Verb(
            "BACKUP", ["<file>"],
            about: "Copies all that this node holds into a file that is not there yet: a name, in "
                + "backups/ of its data folder, or an absolute path that ends in "
                + BackupFile.endings.joined(separator: ", ") + "."
        ) { words throws(LineError) in .backup(try words.backupFile(0)) },
        Verb(
            "SCRUB",
            about: "Checks all that this node holds, mends what is damaged, and rids its files of "
                + "deleted texts."
        ) { _ throws(LineError) in .scrub },
        Verb("SHUTDOWN", about: "Stops this node cleanly.") { _ throws(LineError) in .shutdown },
    ]
}
