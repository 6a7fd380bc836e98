/**
 * The types of the client: what a page sees of conversations, and what a program that embeds the
 * client may replace.
 *
 * All values that the client hands out are snapshots. They are never changed later; what has
 * changed is another object.
 */

/**
 * A message as its reader sees it: the cluster's message with the reader's own pending operations
 * laid over it.
 *
 * `state` of the reader's own messages says how far they have come; for messages of others it is
 * "sent". A "waiting" message is in the outbox, and `at` is the time of this device until the
 * cluster has given it one. A message that the cluster refuses is none: it leaves the view, and the
 * listeners are told why.
 *
 * @typedef {{
 *   id: string,
 *   seq?: string,
 *   conversation: string,
 *   from: string,
 *   at: string,
 *   type: "text" | "image" | "voice" | "system" | "action",
 *   text: string,
 *   edited?: string,
 *   item?: string,
 *   blob?: string,
 *   preview?: string,
 *   pinnedBy?: string,
 *   pinnedAt?: string,
 *   deletedForEveryone?: boolean,
 *   deletedBy: string[],
 *   deliveredTo: string[],
 *   readBy: string[],
 *   state: "waiting" | "sent" | "delivered" | "read",
 *   isMine: boolean,
 * }} Message
 */

/**
 * A conversation in the list of chats.
 *
 * @typedef {{
 *   id: string,
 *   title: string,
 *   participants: string[],
 *   createdAt: string,
 *   last?: string,
 *   lastFrom?: string,
 *   lastAt?: string,
 *   lastText: string,
 *   unread: number,
 *   isArchived: boolean,
 *   isWaiting: boolean,
 * }} Chat
 */

/**
 * An action item of the signed-in user.
 *
 * @typedef {{
 *   id: string,
 *   title: string,
 *   due?: string,
 *   priority?: "low" | "medium" | "high",
 *   chat?: string,
 *   message?: string,
 *   isDone: boolean,
 *   isWaiting: boolean,
 * }} Item
 */

/** @typedef {{user: string, name?: string, email?: string, photo?: string}} Profile */

/**
 * A refusal in the words of the node; code 0 stands for no answer of any node.
 *
 * @typedef {{code: number, message: string}} Failure
 */

/** @typedef {"signedOut" | "connecting" | "online" | "offline"} Connection */

/**
 * Up to where a participant has read, and has received, a conversation.
 *
 * @typedef {{
 *   user: string,
 *   read?: string,
 *   readAt?: string,
 *   delivered?: string,
 *   deliveredAt?: string,
 * }} Mark
 */

/**
 * A change of who takes part in a conversation; `by` is the user who invited, or who left.
 *
 * @typedef {{kind: "joined" | "left", user: string, by: string, at: string}} MemberChange
 */

/**
 * What a page shows of one conversation.
 *
 * @typedef {{
 *   chat: Chat | undefined,
 *   messages: Message[],
 *   pins: Message[],
 *   isLoaded: boolean,
 *   hasEarlier: boolean,
 *   typing: string[],
 *   marks: Mark[],
 *   changes: MemberChange[],
 * }} ConversationView
 */

/**
 * What a listener is told, once a turn for each kind and conversation.
 *
 * "session" says that the user changed, "ended", just before it, why the cluster ended the sign-in. "refused" says that the cluster refused an operation for
 * good, which is out of the view already. "notify" asks for a notification of a message that was
 * sent while its conversation was not open; `withdrawn` that one be taken back.
 *
 * @typedef {{kind: "connection" | "chats" | "items" | "profiles" | "session"}
 *   | {kind: "conversation" | "typing", conversation: string}
 *   | {kind: "ended", reason: Failure}
 *   | {kind: "refused", operation: Operation, error: Failure}
 *   | {kind: "notify", conversation: string, message: string, from: string, text: string,
 *      withdrawn?: boolean}
 * } Change
 */

/**
 * A change that the user has made and the cluster has not shown yet.
 *
 * `id` orders operations, as texts are ordered: the outbox sends those of one `lane` (a
 * conversation, or "items", or "profile") in this order, one at a time. An operation is
 * acknowledged when the cluster has answered it, and stays in the overlay until the confirmed state
 * shows it.
 *
 * @typedef {{
 *   id: string,
 *   lane: string,
 *   at: string,
 *   action: Action,
 *   acknowledged?: Acknowledgement,
 * }} Operation
 */

/**
 * What the cluster said when it acknowledged an operation.
 *
 * @typedef {{at?: string}} Acknowledgement
 */

/**
 * @typedef {{kind: "create", conversation: string, title: string, email?: string,
 *      emails?: string[]}
 *   | {kind: "send", conversation: string, message: string, type: "text" | "image" | "voice",
 *      text: string, blob?: string, preview?: string}
 *   | {kind: "edit", conversation: string, message: string, text: string}
 *   | {kind: "delete" | "retract" | "restore" | "pin" | "unpin",
 *      conversation: string, message: string}
 *   | {kind: "archive" | "unarchive" | "leave", conversation: string}
 *   | {kind: "hide", conversation: string, through: string}
 *   | {kind: "addItem", item: string, title: string, due?: string, priority?: string,
 *      chat?: string, message?: string}
 *   | {kind: "editItem", item: string, changes: ItemChanges}
 *   | {kind: "completeItem", item: string, isDone: boolean}
 *   | {kind: "deleteItem", item: string}
 *   | {kind: "setProfile", name?: string, photo?: string}
 * } Action
 */

/** @typedef {{title?: string, due?: string | null, priority?: string | null}} ItemChanges */

/**
 * A source of time, in milliseconds since 1970, and of timers.
 *
 * @typedef {{
 *   now: () => number,
 *   setTimer: (milliseconds: number, action: () => void) => () => void,
 * }} Clock
 */

/**
 * The answer to a request over HTTP; `at` is the node's time, in milliseconds since 1970.
 *
 * @typedef {{
 *   status: number,
 *   body: unknown,
 *   blob?: Blob,
 *   retryAfterSeconds?: number,
 *   token?: string,
 *   at?: number,
 * }} Answer
 */

/**
 * A request over HTTP; `body` is sent as JSON, `blob` as it is.
 *
 * @typedef {{
 *   method: string,
 *   path: string,
 *   body?: unknown,
 *   blob?: Blob,
 *   wantsBlob?: boolean,
 *   accessToken?: string,
 *   token?: string,
 * }} Call
 */

/**
 * An open WebSocket, or one that is being opened.
 *
 * @typedef {{send: (text: string) => void, close: () => void}} Socket
 */

/**
 * @typedef {{
 *   onOpen: () => void,
 *   onText: (text: string) => void,
 *   onClose: (code: number) => void,
 * }} SocketEvents
 */

/**
 * The network: requests and WebSockets.
 *
 * `fetch` rejects if no answer comes within `milliseconds`.
 *
 * @typedef {{
 *   fetch: (node: string, call: Call, milliseconds: number) => Promise<Answer>,
 *   open: (node: string, accessToken: string, since: string | undefined, events: SocketEvents)
 *     => Socket,
 *   onNetworkChange?: (action: (isUp: boolean) => void) => () => void,
 * }} Transport
 */

/**
 * A change of the store: `value` undefined removes the entry.
 *
 * @typedef {{key: string, value: unknown}} Write
 */

/**
 * The local store: named values, ordered by their keys.
 *
 * `write` makes all its changes or none, and resolves when they would survive a crash.
 *
 * @typedef {{
 *   read: (prefix: string) => Promise<[string, unknown][]>,
 *   write: (writes: Write[]) => Promise<void>,
 *   close: () => void,
 * }} Store
 */

/**
 * A small store of texts that has a change when the call returns, unless the machine fails: the
 * `localStorage` of a browser, or a `Map`. `set` throws if it is full.
 *
 * @typedef {{
 *   keys: () => Iterable<string>,
 *   get: (key: string) => string | undefined,
 *   set: (key: string, text: string) => void,
 *   delete: (key: string) => void,
 * }} SyncStore
 */

/**
 * What tabs of one origin share: locks, and a channel on which each hears the others.
 *
 * A lock is held until the promise of its `action` settles, or the tab is gone; `signal` gives up
 * waiting for it. `tryLock` does nothing if another tab holds the lock.
 *
 * @typedef {{
 *   lock: <T>(name: string, action: () => Promise<T>, signal?: AbortSignal) => Promise<T>,
 *   tryLock: (name: string, action: () => Promise<void>) => Promise<void>,
 *   post: (message: unknown) => void,
 *   onPost: (action: (message: unknown) => void) => void,
 *   close: () => void,
 * }} Tabs
 */

export {};
