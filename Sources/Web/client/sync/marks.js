import { exactly } from "../network/connection.js";
import { isFinal } from "../network/failures.js";

/** @typedef {{id: string, at: string}} Position a message's id and its time of sending */

/** Milliseconds during which read marks are collected; only a conversation's last mark is sent. */
const GATHER_MILLISECONDS = 200;
const PREFIX = "read/";

/**
 * The last messages read and received on this device, by conversation. A mark never moves back, so
 * only the last one is kept and sent. Unsent read marks are stored on this device.
 */
export class Marks {
    #engine;
    /** The last message read on this device, by chat. @type {Map<string, Position>} */
    #read = new Map();
    /**
     * The read and delivery marks that have to be sent to a node, by request path.
     * @type {Map<string, {conversation: string, id: string}>}
     */
    #waiting = new Map();
    #isScheduled = false;

    /** @param {import("../sync/engine.js").Engine} engine */
    constructor(engine) {
        this.#engine = engine;
    }

    async open() {
        for (const [key, value] of await this.#engine.store.read(PREFIX)) {
            const conversation = key.slice(PREFIX.length);
            const { at, id } = /** @type {Position} */ (value);
            if (!at) continue;
            this.#read.set(conversation, { id, at });
            this.#waiting.set(path(conversation, "read"), { conversation, id });
        }
    }

    /**
     * Returns the last message of a conversation that the user has read, here or elsewhere.
     *
     * @param {string} conversation @returns {Position | undefined}
     */
    lastRead(conversation) {
        const here = this.#read.get(conversation);
        const { marks } = this.#engine.persistence.confirmed.conversation(conversation);
        const { read: id, readSent: at } = marks.get(this.#engine.persistence.confirmed.user) ?? {};
        return id && at && at > (here?.at ?? "") ? { id, at } : here;
    }

    /**
     * @param {string} conversation @param {Position} message
     * @returns {boolean} whether the mark moves forward
     */
    setRead(conversation, { at, id }) {
        if (at <= (this.lastRead(conversation)?.at ?? "")) return false;
        this.#read.set(conversation, { id, at });
        this.#engine.store.write([{ key: PREFIX + conversation, value: { id, at } }]).catch(() => {
            // The mark is sent from memory even if it could not be stored.
        });
        this.#wait(conversation, "read", id);
        return true;
    }

    /** @param {string} conversation @param {string} id */
    setDelivered(conversation, id) {
        this.#wait(conversation, "delivered", id);
    }

    /** Schedules the sending of all unsent read and delivery marks in 200 ms. */
    schedule() {
        if (this.#isScheduled) return;
        this.#isScheduled = true;
        this.#engine.clock.setTimer(GATHER_MILLISECONDS, () => {
            this.#isScheduled = false;
            if (!this.#engine.connection.isOnline) return;
            for (const [path, mark] of this.#waiting) this.#send(path, mark);
        });
    }

    clear() {
        this.#read.clear();
        this.#waiting.clear();
    }

    /** @param {string} conversation @param {"read" | "delivered"} kind @param {string} id */
    #wait(conversation, kind, id) {
        this.#waiting.set(path(conversation, kind), { conversation, id });
        this.schedule();
    }

    /** @param {string} path @param {{conversation: string, id: string}} mark */
    async #send(path, mark) {
        const body = { message: mark.id };
        const answer = await this.#engine.connection.request("PUT", exactly(path), body)
            .catch(() => undefined);
        // A newer mark that was set during the request stays queued until its own answer.
        if (!answer || this.#waiting.get(path) !== mark) return;
        // A node may not have a message yet that another one has shown: the mark is sent later.
        if (answer.status === 404) return;
        if (answer.status !== 200 && !isFinal(answer.status)) return this.schedule();
        this.#waiting.delete(path);
        if (!path.endsWith("/read")) return;
        const key = PREFIX + mark.conversation;
        this.#engine.store.write([{ key, value: undefined }]).catch(() => {
            // If the removal fails, the mark is sent again after the next start, which is harmless.
        });
    }
}

/** @param {string} conversation @param {"read" | "delivered"} kind */
function path(conversation, kind) {
    return `/v1/conversations/${encodeURIComponent(conversation)}/marks/${kind}`;
}
