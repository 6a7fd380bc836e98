/**
 * The public types of the chat client: the views that a page renders, and the interfaces (clock,
 * network, store, tabs) that an embedding program may implement.
 *
 * All values that the client returns are immutable snapshots. A change produces a new object.
 */

/**
 * A message as the user sees it: the confirmed message with the user's own pending operations
 * applied to it.
 *
 * `state` is the delivery state of the user's own messages; for messages of others it is "sent". A
 * "waiting" message is still in the outbox, and its `at` is this device's time until the cluster
 * assigns a timestamp. A message that the cluster rejects is removed from the view, and listeners
 * receive a "refused" change with the reason.
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
 * A conversation as an entry of the chat list.
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
 * An error with the node's status code and message; code 0 means that no node answered.
 *
 * @typedef {{code: number, message: string}} Failure
 */

/** @typedef {"signedOut" | "connecting" | "online" | "offline"} Connection */

/**
 * A participant's read and delivery marks in a conversation: the ids of the last message read and
 * the last one received.
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
 * A participant's joining or leaving of a conversation; `by` is the user who invited, or who left.
 *
 * @typedef {{kind: "joined" | "left", user: string, by: string, at: string}} MemberChange
 */

/**
 * The data that a page renders for one conversation.
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
 * A change notification for listeners; equal notifications are sent once per event-loop turn.
 *
 * "session" reports that the signed-in user changed; "ended" precedes it and gives the reason why
 * the cluster ended the sign-in. "refused" reports an operation that the cluster rejected
 * permanently; the view has already removed it. "notify" asks for a notification of a message that
 * was sent while its conversation was not open; with `withdrawn`, it asks to remove that
 * notification.
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
 * A change that the user made on this device and that the confirmed state does not include yet.
 *
 * Operations are ordered by `id`, compared as strings: the outbox sends the operations of one
 * `lane` (a conversation, "items" or "profile") in this order, one at a time. An operation is
 * acknowledged when the cluster has accepted it, and stays in the overlay until the confirmed state
 * includes it.
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
 * The cluster's acknowledgement of an operation, with the timestamp it assigned.
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
 * A clock in milliseconds since 1970, with timers.
 *
 * @typedef {{
 *   now: () => number,
 *   setTimer: (milliseconds: number, action: () => void) => () => void,
 * }} Clock
 */

/**
 * The response to an HTTP request; `at` is the node's time, in milliseconds since 1970.
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
 * An HTTP request; `body` is sent as JSON, `blob` as raw bytes.
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
 * A WebSocket that is open or connecting.
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
 * `fetch` rejects if no response arrives within `milliseconds`.
 *
 * @typedef {{
 *   fetch: (node: string, call: Call, milliseconds: number) => Promise<Answer>,
 *   open: (node: string, accessToken: string, since: string | undefined, events: SocketEvents)
 *     => Socket,
 *   onNetworkChange?: (action: (isUp: boolean) => void) => () => void,
 * }} Transport
 */

/**
 * A write to the local store: `value` undefined removes the entry.
 *
 * @typedef {{key: string, value: unknown}} Write
 */

/**
 * The local store: a persistent key-value store, ordered by key.
 *
 * `write` applies all its changes atomically, and resolves when they are durable.
 *
 * @typedef {{
 *   read: (prefix: string) => Promise<[string, unknown][]>,
 *   write: (writes: Write[]) => Promise<void>,
 *   close: () => void,
 * }} Store
 */

/**
 * A small synchronous string store that survives a crash of the page, though not of the machine:
 * the browser's `localStorage`, or a `Map`. `set` throws if the store is full.
 *
 * @typedef {{
 *   keys: () => Iterable<string>,
 *   get: (key: string) => string | undefined,
 *   set: (key: string, text: string) => void,
 *   delete: (key: string) => void,
 * }} SyncStore
 */

/**
 * The coordination of tabs of one origin: named locks, and a broadcast channel to the other tabs.
 *
 * A lock is held until the promise of its `action` settles or the tab is closed; `signal` cancels
 * the wait for the lock. `tryLock` does nothing if another tab holds the lock.
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
