/**
 * The conversations that are open on the web page, and whether the web page is visible. Messages of
 * open conversations are marked as read while the web page is visible.
 */
export class Screen {
    #engine;
    /** @type {Set<string>} */
    #open = new Set();
    #isVisible = true;

    /** @param {import("./engine.js").Engine} engine */
    constructor(engine) {
        this.#engine = engine;
    }

    /** The ids of the open conversations, the last opened one last. */
    get open() {
        return [...this.#open];
    }

    get isVisible() {
        return this.#isVisible;
    }

    set isVisible(isVisible) {
        this.#isVisible = isVisible;
        this.tellViewing();
        if (isVisible) { for (const id of this.#open) this.markRead(id); }
    }

    /** @param {string} id */
    isOpen(id) {
        return this.#open.has(id);
    }

    /** Whether a conversation is open and the web page is visible. @param {string} id */
    shows(id) {
        return this.#isVisible && this.#open.has(id);
    }

    /** Loads a conversation and, on a visible page, marks it as read. @param {string} id */
    async openConversation(id) {
        const { connection, loader, persistence } = this.#engine;
        this.#open.add(id);
        this.tellViewing();
        this.markRead(id);
        if (connection.isOnline) await loader.loadConversation(id);
        else persistence.confirmed.staleHistories.add(id);
    }

    /** @param {string} id */
    closeConversation(id) {
        const { persistence, typing } = this.#engine;
        this.#open.delete(id);
        typing.set(id, false);
        this.tellViewing();
        persistence.confirmed.conversation(id).trim();
        persistence.schedule();
    }

    clear() {
        this.#open.clear();
    }

    /** Marks a conversation's messages as read if the web page is visible. @param {string} id */
    markRead(id) {
        if (!this.#isVisible) return;
        const { changes, marks, views } = this.#engine;
        const { messages } = views.conversation(id);
        const last = messages.findLast(({ isMine }) => !isMine);
        if (last && marks.setRead(id, last)) changes.addConversation(id);
    }

    /**
     * Reports the conversation on screen to the cluster, which then sends this device no push
     * notifications of messages in that conversation.
     */
    tellViewing() {
        this.#engine.push.setViewing(this.#isVisible ? this.open.at(-1) : undefined);
    }
}
