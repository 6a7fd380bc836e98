/**
 * A client without a network, for tests of the page: the cluster is a value in `localStorage`, which
 * all tabs of one browser share, and the sign-in belongs to the tab. Two tabs are two users, or two
 * devices of one.
 *
 * `refusals`, `latency` and `failsLoads` make it fail as a cluster would.
 */

import { apply, chatFor, emptyCluster, failure, messagesFor } from "./fake-cluster.js";

const clusterKey = "fake.cluster";
const sessionKey = "fake.session";
const pendingKey = "fake.pending";

export class Client {
    latency = 5;
    failsLoads = false;
    isVisible = true;
    refusals = new Map();

    #listeners = new Set();
    #base = emptyCluster();
    #pending = [];
    #settlers = new Map();
    #session;
    #open = new Set();
    #isOffline = false;
    #isSending = false;
    #view;

    static async open({ nodes }) {
        const client = new Client();
        client.node = nodes[0];
        globalThis.fakeClient = client;
        await Promise.resolve();
        client.#restore();
        return client;
    }

    #restore() {
        this.#session = JSON.parse(sessionStorage.getItem(sessionKey) ?? "null") ?? undefined;
        this.#pending = JSON.parse(sessionStorage.getItem(pendingKey) ?? "[]");
        this.#reload();
        addEventListener("storage", (event) => {
            if (event.key === clusterKey && !this.#isOffline) this.#onRemoteChange();
        });
        this.#afterArrival();
        this.#send();
    }

    get connection() {
        if (!this.#session) return "signedOut";
        return this.#isOffline ? "offline" : "online";
    }

    get now() {
        return Date.now();
    }
    get editWindow() {
        return 15 * 60 * 1000;
    }

    get user() {
        return this.#session?.user;
    }

    get email() {
        return this.#session?.email;
    }

    subscribe(listener) {
        this.#listeners.add(listener);
        return () => this.#listeners.delete(listener);
    }

    // Accounts

    async signUp(email, password) {
        await this.#round();
        this.#reload();
        const key = email.toLowerCase();
        if (this.#base.accounts[key]) throw failure(409, "This e-mail address is in use");
        const user = `u-${key.split("@")[0]}`;
        this.#base.accounts[key] = { user, password };
        this.#save();
        this.#begin({ user, email });
    }

    async signIn(email, password) {
        await this.#round();
        this.#reload();
        const account = this.#base.accounts[email.toLowerCase()];
        if (account?.password !== password) {
            throw failure(401, "Wrong e-mail address or password");
        }
        this.#begin({ user: account.user, email });
    }

    async signOut() {
        await this.#round();
        sessionStorage.clear();
        this.#session = undefined;
        this.#pending = [];
        this.#tell({ kind: "session" });
    }

    #begin(session) {
        this.#session = session;
        sessionStorage.setItem(sessionKey, JSON.stringify(session));
        this.#afterArrival();
        this.#tell({ kind: "session" });
    }

    // What there is

    #state() {
        if (this.#view) return this.#view;
        this.#view = this.#base;
        if (this.#pending.length === 0) return this.#view;
        this.#view = structuredClone(this.#base);
        for (const { action, at } of this.#pending) {
            try {
                apply(this.#view, action, this.user, at);
            } catch {
                // The cluster will refuse it, too.
            }
        }
        return this.#view;
    }

    chats({ archived }) {
        return Object.values(this.#state().conversations)
            .filter((chat) => chat.participants.includes(this.user))
            .filter((chat) => !(chat.hidden[this.user] >= Math.max(1, chat.messages.length)))
            .map((chat) => chatFor(chat, this.user, false))
            .filter((chat) => chat.isArchived === archived)
            .sort((a, b) => (b.lastAt ?? b.createdAt).localeCompare(a.lastAt ?? a.createdAt));
    }

    conversation(id) {
        const chat = this.#state().conversations[id];
        if (!chat || this.failsLoads) {
            const none = { messages: [], pins: [], typing: [], marks: [], changes: [] };
            return { ...none, chat: undefined, isLoaded: true, hasEarlier: false };
        }
        const waiting = new Set(this.#pending.map(({ action }) => action.message));
        const messages = messagesFor(chat, this.user, waiting);
        const pins = messages.filter((message) => message.pinnedAt)
            .sort((a, b) => b.pinnedAt.localeCompare(a.pinnedAt));
        const typing = Object.keys(chat.typing)
            .filter((user) => chat.typing[user] && user !== this.user && !this.#isOffline);
        const marks = Object.entries(chat.marks).map(([user, mark]) => ({ user, ...mark }));
        return {
            chat: chatFor(chat, this.user, false),
            messages,
            pins,
            typing,
            marks,
            changes: [],
            isLoaded: true,
            hasEarlier: false,
        };
    }

    items() {
        return Object.values(this.#state().items[this.user] ?? {})
            .map((item) => ({ ...item, isWaiting: false }));
    }

    profile(user) {
        return this.#state().profiles[user];
    }

    async loadProfiles() {}

    search(words) {
        const parts = words.toLowerCase().split(/\s+/);
        const has = (text) => parts.every((part) => text.toLowerCase().includes(part));
        const chats = this.chats({ archived: false });
        return {
            chats: chats.filter((chat) => has(`${chat.title} ${chat.lastText}`)),
            messages: chats.flatMap((chat) => this.conversation(chat.id).messages)
                .filter((message) => has(message.text)),
        };
    }

    // Conversations

    async openConversation(id) {
        this.#open.add(id);
        await this.#round();
        if (this.failsLoads) throw failure(0, "no node answered");
        this.#afterArrival();
        this.#tell({ kind: "conversation", conversation: id });
    }

    closeConversation(id) {
        this.#open.delete(id);
    }

    async loadEarlier() {
        await this.#round();
        if (this.failsLoads) throw failure(0, "no node answered");
    }

    readMark(id) {
        const conversation = this.#base.conversations[id];
        const read = conversation?.marks[this.user]?.read;
        return conversation?.messages.find((each) => each.id === read);
    }

    async loadPins() {
        await this.#round();
        if (this.failsLoads) throw failure(0, "no node answered");
    }

    async edits(conversation, message) {
        await this.#round();
        const found = this.#state().conversations[conversation].messages
            .find((each) => each.id === message);
        return found.edits ?? [{ at: found.at, text: found.text }];
    }

    send(conversation, text) {
        const message = crypto.randomUUID();
        this.#do({ kind: "send", conversation, message, type: "text", text });
        return message;
    }

    sendFile(conversation, file, { type, text = "", preview }) {
        const message = crypto.randomUUID();
        const [blob, small] = [crypto.randomUUID(), preview ? crypto.randomUUID() : undefined];
        this.#keepFile(blob, file).then(() => small && this.#keepFile(small, preview))
            .then(() =>
                this.#do({
                    kind: "send",
                    conversation,
                    message,
                    type,
                    text,
                    blob,
                    preview: small,
                })
            );
        return message;
    }

    async #keepFile(id, file) {
        const bytes = new Uint8Array(await file.arrayBuffer());
        const text = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
        this.#reload();
        this.#base.files[id] = { type: file.type, data: btoa(text) };
        this.#save();
    }

    async file(_conversation, id) {
        await this.#round();
        const file = this.#base.files[id];
        if (!file) throw failure(404, "File not found");
        const bytes = Uint8Array.from(atob(file.data), (letter) => letter.charCodeAt(0));
        return new Blob([bytes], { type: file.type });
    }

    edit(conversation, message, text) {
        return this.#do({ kind: "edit", conversation, message, text });
    }

    deleteForMe(conversation, message) {
        return this.#do({ kind: "delete", conversation, message });
    }

    restore(conversation, message) {
        return this.#do({ kind: "restore", conversation, message });
    }

    deleteForEveryone(conversation, message) {
        return this.#do({ kind: "retract", conversation, message });
    }

    pin(conversation, message) {
        return this.#do({ kind: "pin", conversation, message });
    }

    unpin(conversation, message) {
        return this.#do({ kind: "unpin", conversation, message });
    }

    async createConversation({ title, emails }) {
        const conversation = crypto.randomUUID();
        await this.#do({ kind: "create", conversation, title, emails }, true);
        return conversation;
    }

    archive(conversation) {
        return this.#do({ kind: "archive", conversation });
    }

    unarchive(conversation) {
        return this.#do({ kind: "unarchive", conversation });
    }

    hide(conversation) {
        return this.#do({ kind: "hide", conversation });
    }

    leave(conversation) {
        return this.#do({ kind: "leave", conversation });
    }

    setTyping(conversation, isTyping) {
        if (this.#isOffline) return;
        this.#now({ kind: "typing", conversation, isTyping });
    }

    // Items, profile, push

    addItem(fields) {
        const item = crypto.randomUUID();
        this.#do({ kind: "addItem", item, ...fields });
        return item;
    }

    editItem(item, changes) {
        return this.#do({ kind: "editItem", item, changes });
    }

    setItemDone(item, isDone) {
        return this.#do({ kind: "completeItem", item, isDone });
    }

    deleteItem(item) {
        return this.#do({ kind: "deleteItem", item });
    }

    setProfile(profile) {
        return this.#do({ kind: "setProfile", profile });
    }

    async pushKey() {}
    async block() {}
    async unblock() {}
    async blocked() {
        return [];
    }
    async changePassword() {}
    async changeEmail() {}
    deleteAccount() {
        return this.signOut();
    }
    async enablePush() {}
    async disablePush() {}
    close() {}

    get debugOffline() {
        return this.#isOffline;
    }

    set debugOffline(isOffline) {
        this.#isOffline = isOffline;
        if (!isOffline) this.#onRemoteChange();
        this.#tell({ kind: "connection" });
        this.#send();
    }

    // The outbox

    #do(action, isQuiet = false) {
        const operation = {
            id: crypto.randomUUID(),
            action,
            at: new Date().toISOString(),
            isQuiet,
        };
        const promise = new Promise((resolve, reject) => {
            this.#settlers.set(operation.id, { resolve, reject });
        });
        promise.catch(() => {});
        this.#pending.push(operation);
        this.#keepPending();
        this.#changed();
        this.#send();
        return promise;
    }

    async #send() {
        if (this.#isSending) return;
        this.#isSending = true;
        while (this.#pending.length > 0 && !this.#isOffline) {
            await this.#round();
            if (this.#isOffline) break;
            this.#answer(this.#pending[0]);
        }
        this.#isSending = false;
    }

    #answer(operation) {
        const { id, action, isQuiet } = operation;
        const settler = this.#settlers.get(id);
        this.#reload();
        this.#pending.shift();
        this.#keepPending();
        try {
            const refusal = this.refusals.get(action.kind);
            this.refusals.delete(action.kind);
            if (refusal) throw refusal;
            apply(this.#base, action, this.user, new Date().toISOString());
            this.#save();
            settler?.resolve();
        } catch (error) {
            if (!isQuiet) this.#tell({ kind: "refused", operation, error });
            settler?.reject(error);
        }
        this.#changed();
    }

    /** Changes the cluster at once, without a place in the outbox. */
    #now(action) {
        this.#reload();
        apply(this.#base, action, this.user, new Date().toISOString());
        this.#save();
        this.#changed();
    }

    #afterArrival() {
        if (!this.#session || this.#isOffline) return;
        for (const chat of Object.values(this.#base.conversations)) {
            if (!chat.participants.includes(this.user)) continue;
            const last = chat.messages.findLast((message) => message.from !== this.user)?.id;
            if (!last) continue;
            const mark = chat.marks[this.user];
            const conversation = chat.id;
            if (this.isVisible && this.#open.has(chat.id) && mark?.read !== last) {
                this.#now({ kind: "read", conversation, message: last });
            }
            if (mark?.delivered !== last) {
                this.#now({ kind: "delivered", conversation, message: last });
            }
        }
    }

    #onRemoteChange() {
        const before = new Set(this.#allMessages().map((message) => message.id));
        this.#reload();
        this.#changed();
        for (const message of this.#allMessages()) {
            const { id, from, text, conversation } = message;
            if (before.has(id) || from === this.user || this.#open.has(conversation)) continue;
            this.#tell({ kind: "notify", conversation, message: id, from, text });
        }
        this.#afterArrival();
    }

    #allMessages() {
        return this.chats({ archived: false })
            .flatMap((chat) => this.conversation(chat.id).messages);
    }

    #reload() {
        this.#base = JSON.parse(localStorage.getItem(clusterKey) ?? "null") ?? emptyCluster();
        this.#view = undefined;
    }

    #save() {
        localStorage.setItem(clusterKey, JSON.stringify(this.#base));
    }

    #keepPending() {
        sessionStorage.setItem(pendingKey, JSON.stringify(this.#pending));
    }

    #changed() {
        this.#view = undefined;
        this.#tell({ kind: "chats" });
    }

    #tell(change) {
        queueMicrotask(() => this.#listeners.forEach((listener) => listener(change)));
    }

    #round() {
        return new Promise((resolve) => setTimeout(resolve, this.latency));
    }
}
