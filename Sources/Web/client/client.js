import { ChatActions } from "./outbox/chat-actions.js";
import { Engine } from "./sync/engine.js";
import { ItemActions } from "./outbox/item-actions.js";
import { compare } from "./views/message.js";
import { MessageActions } from "./outbox/message-actions.js";
import { completeOptions } from "./store/parts.js";
import { Profiles } from "./sync/profiles.js";
import { Search } from "./sync/search.js";

/** @typedef {import("./network/account.js").Account} Account */
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
    #chats;
    #items;
    #messages;
    #profiles;
    #search;

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
        const engine = this.#engine = new Engine(options);
        const confirmed = () => engine.persistence.confirmed;
        const { makeID } = options;
        this.#chats = new ChatActions({ confirmed, makeID, outbox: engine.outbox });
        this.#items = new ItemActions(engine.outbox, makeID);
        this.#messages = new MessageActions({ ...engine, makeID });
        this.#profiles = new Profiles(engine.outbox, confirmed);
        this.#search = new Search(engine.views, this.#profiles);
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

    /**
     * The time by the nodes' clocks, in milliseconds since 1970, with a precision of one second.
     */
    get now() {
        return this.#engine.calls.now;
    }

    // Section: the list of chats.

    /**
     * @param {{archived?: boolean}} [options]
     * @returns {Chat[]} the chats, the one with the latest message first
     */
    chats({ archived = false } = {}) {
        return this.#engine.views.chats().filter((chat) => chat.isArchived === archived);
    }

    /** @type {ChatActions["create"]} */
    createConversation = (fields) => this.#chats.create(fields);
    /** @type {ChatActions["archive"]} */
    archive = (chat) => this.#chats.archive(chat);
    /** @type {ChatActions["unarchive"]} */
    unarchive = (chat) => this.#chats.unarchive(chat);
    /** @type {ChatActions["hide"]} */
    hide = (chat) => this.#chats.hide(chat);
    /** @type {ChatActions["leave"]} */
    leave = (chat) => this.#chats.leave(chat);
    /** @type {Search["find"]} */
    search = (words) => this.#search.find(words);

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
     * Returns the id of the last message that the user has read in a conversation, as far as this
     * device knows.
     *
     * @param {string} id
     * @returns {string | undefined} undefined if no message is known to be read
     */
    readMark(id) {
        const { marks, persistence, session } = this.#engine;
        const { marks: told, messages } = persistence.confirmed.conversation(id);
        const ids = [marks.read(id), told.get(session.user ?? "")?.read];
        const loaded = ids.flatMap((each) => messages.get(each ?? "") ?? []).sort(compare);
        return loaded.at(-1)?.id ?? ids.find((each) => each !== undefined);
    }

    /**
     * Returns a message that this device has loaded from a node, even if the user has deleted it.
     *
     * @param {string} conversation
     * @param {string} id
     * @returns {{id: string, at: string, seq?: string} | undefined}
     */
    message(conversation, id) {
        return this.#engine.persistence.confirmed.conversation(conversation).messages.get(id);
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

    /** @type {ItemActions["add"]} */
    addItem = (fields) => this.#items.add(fields);
    /** @type {ItemActions["edit"]} */
    editItem = (item, changes) => this.#items.edit(item, changes);
    /** @type {ItemActions["setDone"]} */
    setItemDone = (item, isDone) => this.#items.setDone(item, isDone);
    /** @type {ItemActions["delete"]} */
    deleteItem = (item) => this.#items.delete(item);

    // Section: user profiles and push notifications.

    /** @type {Profiles["profile"]} */
    profile = (user) => this.#profiles.profile(user);
    /** @type {Profiles["set"]} */
    setProfile = (fields) => this.#profiles.set(fields);
    /** @type {Loader["loadProfiles"]} */
    loadProfiles = (users) => this.#engine.loader.loadProfiles(users);
    /** @type {Push["key"]} */
    pushKey = () => this.#engine.push.key();
    /** @type {Push["enable"]} */
    enablePush = (subscription) => this.#engine.push.enable(subscription);
    /** @type {Push["disable"]} */
    disablePush = () => this.#engine.push.disable();
}
