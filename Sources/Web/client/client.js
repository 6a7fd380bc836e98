import { Engine } from "./sync/engine.js";
import { completeOptions } from "./store/parts.js";
import { find } from "./sync/search.js";
import { refusalOf } from "./outbox/rules.js";

/** @typedef {import("./network/account.js").Account} Account */
/** @typedef {import("./sync/files.js").Files} Files */
/** @typedef {import("./sync/loader.js").Loader} Loader */
/** @typedef {import("./sync/push.js").Push} Push */
/** @typedef {import("./sync/screen.js").Screen} Screen */
/** @typedef {import("./types.js").Action} Action */
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

    /**
     * Opens the chat client with the chats and pending changes stored on this device.
     *
     * @param {import("./store/parts.js").Options} options @returns {Promise<Client>}
     */
    static async open(options) {
        const client = new Client(await completeOptions(options));
        await client.#engine.device.open();
        return client;
    }

    /** @param {import("./sync/engine.js").CompleteOptions} options */
    constructor(options) {
        this.#engine = new Engine(options);
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

    /** Whether files are still being written to IndexedDB; closing the page now loses them. */
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

    /** @type {Account["signUp"]} */
    signUp = (email, password) => this.#engine.account.signUp(email, password);
    /** @type {Account["signIn"]} */
    signIn = (email, password) => this.#engine.account.signIn(email, password);
    /** @type {Account["signOut"]} */
    signOut = (options) => this.#engine.account.signOut(options);
    /** @type {Account["changePassword"]} */
    changePassword = (password, newPassword) =>
        this.#engine.account.changePassword(password, newPassword);
    /** @type {Account["changeEmail"]} */
    changeEmail = (password, email) => this.#engine.account.changeEmail(password, email);
    /** @type {Account["deleteAccount"]} */
    deleteAccount = (password) => this.#engine.account.deleteAccount(password);
    /** @type {Account["block"]} */
    block = (user) => this.#engine.account.block(user);
    /** @type {Account["unblock"]} */
    unblock = (user) => this.#engine.account.unblock(user);
    /** @type {Account["blocked"]} */
    blocked = () => this.#engine.account.blocked();

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
     * Creates a conversation with the users who have the given e-mail addresses, at most 20.
     *
     * @param {{title?: string, emails: string[]}} options
     * @returns {Promise<string>} the new id; rejects with 404 if no user has one of the addresses
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

    /** Hides a chat from the list until a new message arrives. @param {string} conversation */
    hide(conversation) {
        const { row, stretch } = this.#engine.persistence.confirmed.conversation(conversation);
        const through = stretch.at(-1)?.at ?? row?.lastAt ?? row?.createdAt ?? "";
        return this.#perform({ kind: "hide", conversation, through });
    }

    /** @param {string} conversation */
    leave(conversation) {
        return this.#perform({ kind: "leave", conversation });
    }

    /** Finds the loaded chats and messages that contain all the words. @param {string} words */
    search(words) {
        return find(words, this.#engine.views);
    }

    // Section: a single conversation.

    /** @param {string} id @returns {ConversationView} */
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
     * Returns the last message that the user has read, as far as this device knows.
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

    /**
     * Sends a text message.
     *
     * @param {string} conversation @param {string} text @returns {string} the id of the message
     * @throws {import("./types.js").Failure} 400 for an empty text, 429 if too many operations are
     *     pending
     */
    send(conversation, text) {
        const message = this.#engine.makeID();
        this.#add({ kind: "send", conversation, message, type: "text", text });
        this.#engine.typing.onSent(conversation);
        return message;
    }

    /**
     * Sends a picture, a voice recording, or another file as a text message with the file's name.
     *
     * @param {string} conversation @param {Blob} file at most 25 MiB
     * @param {{type: "text" | "image" | "voice", text?: string, preview?: Blob}} options
     *   a preview has at most 16 KiB
     * @returns {string} the id of the message
     */
    sendFile(conversation, file, { type, text = "", preview }) {
        const { files, makeID } = this.#engine;
        const message = makeID();
        const kept = [file, preview].map((each) => each && files.keepNew(each));
        const [blob, small] = kept.map((each) => each?.id);
        const writes = kept.flatMap((each) => each?.write ?? []);
        this.#add(
            { kind: "send", conversation, message, type, text, blob, preview: small },
            writes,
        );
        return message;
    }

    /** @type {Files["file"]} */
    file = (conversation, blob) => this.#engine.files.file(conversation, blob);

    /** @param {string} conversation @param {string} message @param {string} text */
    edit(conversation, message, text) {
        return this.#perform({ kind: "edit", conversation, message, text });
    }

    /** @type {Loader["edits"]} */
    edits = (conversation, message) => this.#engine.loader.edits(conversation, message);

    /** @param {string} conversation @param {string} message */
    deleteForMe(conversation, message) {
        return this.#perform({ kind: "delete", conversation, message });
    }

    /** Undoes `deleteForMe`. @param {string} conversation @param {string} message */
    restore(conversation, message) {
        return this.#perform({ kind: "restore", conversation, message });
    }

    /** @param {string} conversation @param {string} message */
    deleteForEveryone(conversation, message) {
        return this.#perform({ kind: "retract", conversation, message });
    }

    /** @param {string} conversation @param {string} message */
    pin(conversation, message) {
        return this.#perform({ kind: "pin", conversation, message });
    }

    /** @param {string} conversation @param {string} message */
    unpin(conversation, message) {
        return this.#perform({ kind: "unpin", conversation, message });
    }

    // Section: the user's action items.

    /** @returns {import("./types.js").Item[]} by due time; items without a due time are last */
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
        this.#add({ kind: "addItem", item, ...fields });
        return item;
    }

    /**
     * @param {string} item
     * @param {import("./types.js").ItemChanges} changes the changed fields; null clears a field
     */
    editItem(item, changes) {
        return this.#perform({ kind: "editItem", item, changes });
    }

    /** @param {string} item @param {boolean} isDone */
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

    /**
     * Performs an action, unless a rule forbids it that can be judged here.
     *
     * @param {Action} action @param {import("./types.js").Write[]} [files]
     * @returns {Promise<void>} settles when the cluster has answered
     * @throws {import("./types.js").Failure}
     */
    #add(action, files) {
        const { outbox, views } = this.#engine;
        const refusal = refusalOf(action, views.message(action));
        if (refusal) throw refusal;
        return outbox.add(action, files);
    }

    /** Performs an action like `#add`, but rejects where `#add` throws. @param {Action} action */
    async #perform(action) {
        await this.#add(action);
    }
}
