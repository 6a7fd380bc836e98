/**
 * The public types of the chat client: the views that a page renders, and the interfaces (clock,
 * network, store, tabs) that an embedding program may implement. All values that the client returns
 * are immutable snapshots.
 */

/**
 * A message as nodes have reported it, with the user's own changes that are not confirmed yet.
 *
 * Times are RFC 3339 in UTC, as nodes tell them with nine digits after the second. `state` is
 * "sent" for messages of others. A "waiting" message has not been accepted by the cluster yet, and
 * its `at` is this device's time until the cluster assigns a timestamp.
 *
 * @typedef {{
 *   id: string, conversation: string, from: string, at: string,
 *   type: "text" | "image" | "voice" | "system" | "action", text: string, edited?: string,
 *   item?: string, blob?: string, preview?: string, pinnedBy?: string, pinnedAt?: string,
 *   deletedForEveryone?: boolean, deliveredTo: string[], readBy: string[],
 *   state: "waiting" | "sent" | "delivered" | "read", isMine: boolean,
 * }} Message
 */

/**
 * A conversation as an entry of the chat list.
 *
 * @typedef {{
 *   id: string, title: string, participants: string[], createdAt: string,
 *   last?: string, lastFrom?: string, lastAt?: string, lastText: string,
 *   unread: number, isArchived: boolean, isWaiting: boolean,
 * }} Chat
 */

/**
 * An action item of the signed-in user.
 *
 * @typedef {{
 *   id: string, title: string, due?: string, priority?: "low" | "medium" | "high",
 *   chat?: string, message?: string, isDone: boolean, isWaiting: boolean,
 * }} Item
 */

/** @typedef {{user: string, name?: string, email?: string, photo?: string}} Profile */

/**
 * An error with the HTTP status code and the message of a node. Code 0 means that no node answered,
 * or that this device could not store the user's change.
 *
 * @typedef {{code: number, message: string, reason?: string}} Failure
 */

/** @typedef {"signedOut" | "connecting" | "online" | "offline"} Connection */

/**
 * A participant's read and delivery marks in a conversation: the last message that the participant
 * has read (its id, its time of sending, and the time of reading), and the last one received.
 *
 * @typedef {{
 *   user: string, read?: string, readSent?: string, readAt?: string,
 *   delivered?: string, deliveredSent?: string, deliveredAt?: string,
 * }} Mark
 */

/**
 * A user's join or leave; `by` is the user who invited the participant, or who left.
 *
 * @typedef {{kind: "joined" | "left", user: string, by: string, at: string}} MemberChange
 */

/**
 * The data that a page renders for one conversation.
 *
 * @typedef {{
 *   chat: Chat | undefined, messages: Message[], pins: Message[], isLoaded: boolean,
 *   hasEarlier: boolean, typing: string[], marks: Mark[], changes: MemberChange[],
 * }} ConversationView
 */

/**
 * A notification to the client's listeners that something has changed; equal notifications are sent
 * once per iteration of the event loop. "session" reports that the signed-in user changed; if the
 * cluster ended the sign-in, "ended" precedes "session" and gives the reason. "refused" reports
 * that the cluster permanently rejected an operation, whose effect has already been removed from
 * the view. "notify" asks the page to notify the user of a new message in a conversation that is
 * not on screen; with `withdrawn`, "notify" asks the page to remove the notification of that
 * message.
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
 * A change that the user made on this device, kept until a node has accepted or rejected it.
 * Operations of one `lane` (a conversation, "items" or "profile") are sent in the order of `id`,
 * compared as strings, one at a time. `at` is the time of this device at which the user made the
 * change. `stamp` is the identity and the time of every attempt: `<device>.<number>.<time>`.
 *
 * @typedef {{id: string, lane: string, at: string, action: Action, stamp?: string}} Operation
 */

/** @typedef {{conversation: string, message: string}} MessageID */

/**
 * The actions of the user, by kind; `through` is the time of the last message that the user saw in
 * a conversation that is hidden.
 *
 * @typedef {{
 *   create: {conversation: string, title: string, emails: string[]},
 *   send: MessageID & {type: "text" | "image" | "voice", text: string, blob?: string,
 *     preview?: string},
 *   edit: MessageID & {text: string},
 *   delete: MessageID, retract: MessageID, restore: MessageID, pin: MessageID, unpin: MessageID,
 *   archive: {conversation: string}, unarchive: {conversation: string},
 *   hide: {conversation: string, through: string}, leave: {conversation: string},
 *   addItem: {item: string, title: string, due?: string, priority?: "low" | "medium" | "high",
 *     chat?: string, message?: string},
 *   editItem: {item: string, changes: ItemChanges},
 *   completeItem: {item: string, isDone: boolean}, deleteItem: {item: string},
 *   setProfile: {name?: string, photo?: string},
 * }} ActionFields
 */

/**
 * @typedef {{[K in keyof ActionFields]: {kind: K} & ActionFields[K]}[keyof ActionFields]} Action
 */

/** @typedef {{title?: string, due?: string | null, priority?: string | null}} ItemChanges */

/**
 * A clock in milliseconds since 1970; `setTimer` returns a function that cancels the timer.
 * `elapsed` counts the milliseconds since any moment, whatever becomes of the device's time.
 *
 * @typedef {{
 *   now: () => number, elapsed: () => number,
 *   setTimer: (milliseconds: number, action: () => void) => () => void,
 * }} Clock
 */

/**
 * A node's response to an HTTP request.
 *
 * @typedef {{
 *   status: number, body: unknown, blob?: Blob, retryAfterSeconds?: number, token?: string,
 * }} Answer
 */

/**
 * An HTTP request to a node; `body` is sent as JSON, `blob` (a file) as raw bytes.
 *
 * @typedef {{
 *   method: string, path: string, body?: unknown, blob?: Blob, wantsBlob?: boolean,
 *   accessToken?: string, token?: string, operation?: string,
 * }} Call
 */

/**
 * A WebSocket that is open or connecting.
 *
 * @typedef {{send: (text: string) => void, close: () => void}} Socket
 */

/**
 * @typedef {{
 *   onOpen: () => void, onText: (text: string) => void, onClose: (code: number) => void,
 * }} SocketEvents
 */

/**
 * The client's interface to the network, for HTTP requests and WebSockets. The promise of `fetch`
 * rejects if no response arrives within `milliseconds`.
 *
 * @typedef {{
 *   fetch: (node: string, call: Call, milliseconds: number) => Promise<Answer>,
 *   open: (node: string, accessToken: string, since: string | undefined, events: SocketEvents)
 *     => Socket,
 *   onNetworkChange?: (action: (isUp: boolean) => void) => () => void,
 * }} Transport
 */

/** A write, or a removal if `value` is undefined. @typedef {{key: string, value: unknown}} Write */

/**
 * A persistent key-value store on the device, ordered by key, such as the browser's IndexedDB.
 * `write` applies all its changes atomically, and resolves when they are durable.
 *
 * @typedef {{
 *   read: (prefix: string) => Promise<[string, unknown][]>,
 *   write: (writes: Write[]) => Promise<void>, close: () => void,
 * }} Store
 */

/**
 * A small synchronous key-value store of strings: the browser's `localStorage`, or a `Map` outside
 * browsers. Writes to `localStorage` survive a crash of the page, but not always of the machine.
 * `set` throws if the store is full.
 *
 * @typedef {{
 *   keys: () => Iterable<string>, get: (key: string) => string | undefined,
 *   set: (key: string, text: string) => void, delete: (key: string) => void,
 * }} SyncStore
 */

/**
 * The coordination of the browser tabs of one origin: named locks, and messages to all other tabs.
 * A lock is held until the promise of its `action` settles or the tab is closed; `signal` cancels
 * the wait for the lock. `tryLock` does nothing if another tab holds the lock.
 *
 * @typedef {{
 *   lock: <T>(name: string, action: () => Promise<T>, signal?: AbortSignal) => Promise<T>,
 *   tryLock: (name: string, action: () => Promise<void>) => Promise<void>,
 *   post: (message: unknown) => void, onPost: (action: (message: unknown) => void) => void,
 *   close: () => void,
 * }} Tabs
 */

export {};
