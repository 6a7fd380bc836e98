import { Engine } from "./sync/engine.js";
import { MessageActions } from "./outbox/message-actions.js";
import { completeOptions } from "./store/parts.js";
import { find } from "./sync/search.js";

/** @typedef {import("./sync/files.js").Files} Files */
/** @typedef {import("./sync/loader.js").Loader} Loader */
/** @typedef {import("./sync/push.js").Push} Push */
/** @typedef {import("./sync/screen.js").Screen} Screen */
/** @typedef {import("./types.js").Chat} Chat */
/** @typedef {import("./types.js").ConversationView} ConversationView */
/** @typedef {import("./sync/typing.js").Typing} Typing */

/**
 * The chat client of one user on one device, without a user interface.
 *
 * A user's change is shown at once, stored, and sent as soon as a node is reachable. The promise
 * that a method returns settles when the cluster has accepted or rejected the change, perhaps much
 * later. If the cluster rejects the change, the client rolls it back, rejects the promise with a
 * `Failure`, and notifies the listeners.
 *
 * This class is the client's whole public interface. The `@type` comment of a member names the
 * class and the method that implement and document it.
 */
export class Client {
    #engine;
    #messages;

    /**
     * Opens the chat client and restores the chats and pending changes stored on this device.
     *
     * @param {import("./store/parts.js").Options} options
     * @returns {Promise<Client>}
     */
    static async open(options) {
        const client = new Client(await completeOptions(options));
        await client.#engine.device.open();
        return client;
    }

    /** @param {import("./sync/engine.js").CompleteOptions} options */
    constructor(options) {
        this.#engine = new Engine(options);
        this.#messages = new MessageActions(this.#engine);
    }

    /** Closes the chat client. Unsent changes stay stored and are sent after the next start. */
    close() {
        this.#engine.close();
    }

    // Section: the connection to the cluster, and the listeners for changes.

    get connection() {
        return this.#engine.connection.status;
    }

    /** The address of the cluster node to which the client currently sends requests. */
    get node() {
        return this.#engine.nodes.current;
    }

    /**
     * Whether attached files are still being written to IndexedDB. Closing the page during such a
     * write loses the files.
     */
    get isStoringFiles() {
        return this.#engine.outbox.isStoringFiles;
    }

    /** Whether the client simulates a missing network, for manual tests. */
    get debugOffline() {
        return this.#engine.device.isOffline;
    }

    set debugOffline(isOffline) {
        this.#engine.device.isOffline = isOffline;
    }

    /** Whether the web page is visible. Only then does the client mark messages as read. */
    get isVisible() {
        return this.#engine.screen.isVisible;
    }

    set isVisible(isVisible) {
        this.#engine.screen.isVisible = isVisible;
    }

    /**
     * @param {(change: import("./types.js").Change) => void} listener
     * @returns {() => void} a function that ends the subscription
     */
    subscribe(listener) {
        return this.#engine.changes.subscribe(listener);
    }

    // Section: the signed-in user and the user's account.

    get user() {
        return this.#engine.session.user;
    }

    get email() {
        return this.#engine.session.email;
    }

    /**
     * @param {string} email
     * @param {string} password
     */
    async signUp(email, password) {
        await this.#engine.account.signUp(email, password);
        await this.#engine.device.onSignedIn();
    }

    /**
     * @param {string} email
     * @param {string} password
     */
    async signIn(email, password) {
        await this.#engine.account.signIn(email, password);
        await this.#engine.device.onSignedIn();
    }

    /**
     * Signs out, and removes all data that this device has stored. Without a network, the nodes do
     * not learn of the sign-out and accept the user's tokens until the tokens expire.
     *
     * @param {{everywhere?: boolean}} [options]
     */
    async signOut({ everywhere = false } = {}) {
        const { account, device, session } = this.#engine;
        await session.change(async (signedIn) => {
            if (everywhere) await account.signOut(signedIn, true);
            else await account.signOut(signedIn, false).catch(() => {});
            await device.forget();
        });
    }

    /**
     * @param {string} password
     * @param {string} newPassword
     */
    async changePassword(password, newPassword) {
        const { account, session } = this.#engine;
        await session.change((signedIn) => account.changePassword(signedIn, password, newPassword));
        await this.#engine.push.renew().catch(() => {});
        this.#engine.device.tellTabs();
    }

    /**
     * @param {string} password
     * @param {string} email
     */
    async changeEmail(password, email) {
        const { account, session } = this.#engine;
        await session.change((signedIn) => account.changeEmail(signedIn, password, email));
        await this.#engine.push.renew().catch(() => {});
        this.#engine.device.tellTabs();
        this.#engine.changes.add({ kind: "session" });
    }

    /** @param {string} password */
    async deleteAccount(password) {
        const { account, device, session } = this.#engine;
        await session.change(async (signedIn) => {
            await account.deleteAccount(signedIn, password);
            await device.forget();
        });
    }

    /**
     * Blocks a user: messages that the blocked user sends from then on are not shown.
     *
     * @param {string} user
     */
    block(user) {
        return this.#engine.account.block(user);
    }

    /**
     * Unblocks a user. Messages that the user sent during the block are then shown if they are
     * among the newest 1,000 messages of their chat.
     *
     * @param {string} user
     */
    async unblock(user) {
        await this.#engine.account.unblock(user);
        await this.#engine.loader.reload();
    }

    /** @returns {Promise<string[]>} the ids of the users whom the signed-in user has blocked */
    blocked() {
        return this.#engine.account.blocked();
    }

    /** The time by the nodes' clocks, in milliseconds since 1970. */
    get now() {
        return this.#engine.nodeTime.now;
    }

    /** The milliseconds after its sending within which a message can be edited. */
    get editWindow() {
        return this.#engine.feed.editWindow;
    }

    // Section: the list of chats.

    /**
     * @param {{archived?: boolean}} [options]
     * @returns {Chat[]} the chats, the one with the latest message first
     */
    chats({ archived = false } = {}) {
        return this.#engine.views.chats().filter((chat) => chat.isArchived === archived);
    }

    /**
     * Creates a conversation with the users who have the given e-mail addresses.
     *
     * @param {{title?: string, emails: string[]}} options at most 20 addresses
     * @returns {Promise<string>} the conversation's id, once the cluster has created it; rejects
     *     with 404 if no user has one of the addresses
     */
    async createConversation({ title = "", emails }) {
        const conversation = this.#engine.makeID();
        await this.#perform({ kind: "create", conversation, title, emails });
        return conversation;
    }

    /** @param {string} conversation */
    archive(conversation) {
        return this.#perform({ kind: "archive", conversation });
    }

    /** @param {string} conversation */
    unarchive(conversation) {
        return this.#perform({ kind: "unarchive", conversation });
    }

    /**
     * Hides a chat in the user's own chat list until a new message arrives in the chat.
     *
     * @param {string} conversation
     */
    hide(conversation) {
        const { row, stretch } = this.#engine.persistence.confirmed.conversation(conversation);
        const through = stretch.at(-1)?.at ?? row?.lastAt ?? row?.createdAt ?? "";
        return this.#perform({ kind: "hide", conversation, through });
    }

    /** @param {string} conversation */
    leave(conversation) {
        return this.#perform({ kind: "leave", conversation });
    }

    /**
     * Finds the loaded chats and messages that contain all the given words.
     *
     * @param {string} words
     */
    search(words) {
        return find(words, this.#engine.views);
    }

    // Section: a single conversation.

    /**
     * @param {string} id
     * @returns {ConversationView}
     */
    conversation(id) {
        const { persistence, typing, views } = this.#engine;
        const { chat, messages, pins } = views.conversation(id);
        const state = persistence.confirmed.conversation(id);
        const { hasEarlier, isLoaded, shownChanges: changes } = state;
        const marks = [...state.marks.values()];
        const shown = { chat, messages, pins, isLoaded, hasEarlier, marks, changes };
        return { ...shown, typing: typing.users(id) };
    }

    /**
     * Returns the last message that the user has read in a conversation, as far as this device
     * knows.
     *
     * @param {string} id
     * @returns {{id: string, at: string} | undefined} the message's id and time of sending
     */
    readMark(id) {
        return this.#engine.marks.lastRead(id);
    }

    /** @type {Screen["openConversation"]} */
    openConversation = (id) => this.#engine.screen.openConversation(id);
    /** @type {Screen["closeConversation"]} */
    closeConversation = (id) => this.#engine.screen.closeConversation(id);
    /** @type {Loader["loadEarlier"]} */
    loadEarlier = (id) => this.#engine.loader.loadEarlier(id);
    /** @type {Loader["loadPins"]} */
    loadPins = (id) => this.#engine.loader.loadPins(id);
    /** @type {Typing["set"]} */
    setTyping = (conversation, isTyping) => this.#engine.typing.set(conversation, isTyping);

    // Section: the user's actions on messages.

    /** @type {MessageActions["send"]} */
    send = (conversation, text) => this.#messages.send(conversation, text);
    /** @type {MessageActions["sendFile"]} */
    sendFile = (conversation, file, options) =>
        this.#messages.sendFile(conversation, file, options);
    /** @type {Files["file"]} */
    file = (conversation, blob) => this.#engine.files.file(conversation, blob);
    /** @type {MessageActions["edit"]} */
    edit = (conversation, message, text) => this.#messages.edit(conversation, message, text);
    /** @type {MessageActions["edits"]} */
    edits = (conversation, message) => this.#messages.edits(conversation, message);
    /** @type {MessageActions["deleteForMe"]} */
    deleteForMe = (conversation, message) => this.#messages.deleteForMe(conversation, message);
    /** @type {MessageActions["restore"]} */
    restore = (conversation, message) => this.#messages.restore(conversation, message);
    /** @type {MessageActions["deleteForEveryone"]} */
    deleteForEveryone = (conversation, message) =>
        this.#messages.deleteForEveryone(conversation, message);
    /** @type {MessageActions["pin"]} */
    pin = (conversation, message) => this.#messages.pin(conversation, message);
    /** @type {MessageActions["unpin"]} */
    unpin = (conversation, message) => this.#messages.unpin(conversation, message);

    // Section: the user's action items.

    /**
     * @returns {import("./types.js").Item[]} the items by due time; items without a due time are
     *     last
     */
    items() {
        return this.#engine.views.items();
    }

    /**
     * @param {{title: string, due?: string, priority?: "low" | "medium" | "high", chat?: string,
     *   message?: string}} fields
     * @returns {string} the id of the item
     */
    addItem(fields) {
        const item = this.#engine.makeID();
        this.#engine.outbox.add({ kind: "addItem", item, ...fields });
        return item;
    }

    /**
     * @param {string} item
     * @param {import("./types.js").ItemChanges} changes the changed fields; null clears a field
     */
    editItem(item, changes) {
        return this.#perform({ kind: "editItem", item, changes });
    }

    /**
     * @param {string} item
     * @param {boolean} isDone
     */
    setItemDone(item, isDone) {
        return this.#perform({ kind: "completeItem", item, isDone });
    }

    /** @param {string} item */
    deleteItem(item) {
        return this.#perform({ kind: "deleteItem", item });
    }

    // Section: user profiles and push notifications.

    /**
     * Returns a user's profile; the signed-in user's includes unconfirmed changes.
     *
     * @param {string} user
     */
    profile(user) {
        return this.#engine.views.profile(user);
    }

    /** @param {{name?: string, photo?: string}} fields */
    setProfile({ name, photo }) {
        return this.#perform({ kind: "setProfile", name, photo });
    }

    /** @type {Loader["loadProfiles"]} */
    loadProfiles = (users) => this.#engine.loader.loadProfiles(users);
    /** @type {Push["key"]} */
    pushKey = () => this.#engine.push.key();
    /** @type {Push["enable"]} */
    enablePush = (subscription) => this.#engine.push.enable(subscription);
    /** @type {Push["disable"]} */
    disablePush = () => this.#engine.push.disable();

    /** @param {import("./types.js").Action} action */
    #perform(action) {
        return this.#engine.outbox.perform(action);
    }
}
