import { key as fileKey } from "../sync/files.js";
import { refusals } from "./rules.js";

/** @typedef {import("../types.js").Action} Action */
/** @typedef {import("../types.js").Message} Message */

/** The user's actions on messages: send, edit, delete, restore and pin. */
export class MessageActions {
    #engine;

    /** @param {import("../sync/engine.js").Engine} engine */
    constructor(engine) {
        this.#engine = engine;
    }

    /**
     * Sends a text message.
     *
     * @param {string} conversation
     * @param {string} text
     * @returns {string} the id of the message
     * @throws {import("../types.js").Failure} 400 for an empty text, 429 if too many operations are
     *     pending
     */
    send(conversation, text) {
        if (text.trim() === "") throw refusals.empty;
        const { makeID, outbox, typing } = this.#engine;
        const message = makeID();
        outbox.add({ kind: "send", conversation, message, type: "text", text });
        typing.onSent(conversation);
        return message;
    }

    /**
     * Sends a picture, a voice recording, or another file as a text message that contains the
     * file's name.
     *
     * @param {string} conversation
     * @param {Blob} file at most 25 MiB
     * @param {{type: "text" | "image" | "voice", text?: string, preview?: Blob}} options a preview has at
     *   most 16 KiB
     * @returns {string} the id of the message
     */
    sendFile(conversation, file, { type, text = "", preview }) {
        const message = this.#engine.makeID();
        const [blob, write] = this.#keep(file);
        const writes = [write];
        /** @type {Action} */
        const action = { kind: "send", conversation, message, type, text, blob };
        if (preview) {
            const [id, write] = this.#keep(preview);
            action.preview = id;
            writes.push(write);
        }
        this.#engine.outbox.add(action, writes);
        return message;
    }

    /**
     * Returns all versions of a message's text, the current version last.
     *
     * @param {string} conversation
     * @param {string} message
     * @returns {Promise<{at: string, text: string}[]>}
     */
    async edits(conversation, message) {
        const path = `/v1/conversations/${encodeURIComponent(conversation)}/messages/` +
            `${encodeURIComponent(message)}/edits`;
        const { calls, session } = this.#engine;
        const { body } = await calls.send({ method: "GET", path }, session);
        return /** @type {any} */ (body).edits;
    }

    /**
     * @param {string} conversation
     * @param {string} message
     * @param {string} text
     */
    edit(conversation, message, text) {
        if (text.trim() === "") return Promise.reject(refusals.empty);
        const known = this.#message(conversation, message);
        if (!known) return Promise.reject(refusals.noMessage);
        if (!known.isMine) return Promise.reject(refusals.notEditable);
        const { outbox } = this.#engine;
        return outbox.perform({ kind: "edit", conversation, message, text });
    }

    /**
     * @param {string} conversation
     * @param {string} message
     */
    deleteForMe(conversation, message) {
        return this.#perform("delete", conversation, message);
    }

    /**
     * Restores a message that the user has deleted only for themselves.
     *
     * @param {string} conversation
     * @param {string} message
     */
    restore(conversation, message) {
        return this.#engine.outbox.perform({ kind: "restore", conversation, message });
    }

    /**
     * @param {string} conversation
     * @param {string} message
     */
    deleteForEveryone(conversation, message) {
        const known = this.#message(conversation, message);
        if (known && !known.isMine) return Promise.reject(refusals.notSender);
        return this.#perform("retract", conversation, message);
    }

    /**
     * @param {string} conversation
     * @param {string} message
     */
    pin(conversation, message) {
        return this.#perform("pin", conversation, message);
    }

    /**
     * @param {string} conversation
     * @param {string} message
     */
    unpin(conversation, message) {
        return this.#perform("unpin", conversation, message);
    }

    /**
     * @param {"delete" | "retract" | "pin" | "unpin"} kind
     * @param {string} conversation
     * @param {string} message
     */
    #perform(kind, conversation, message) {
        if (!this.#message(conversation, message)) return Promise.reject(refusals.noMessage);
        return this.#engine.outbox.perform({ kind, conversation, message });
    }

    /**
     * @param {string} conversation
     * @param {string} message
     */
    #message(conversation, message) {
        const { messages, pins } = this.#engine.views.conversation(conversation);
        const isIt = (/** @type {Message} */ { id }) => id === message;
        return messages.find(isIt) ?? pins.find(isIt);
    }

    /**
     * Adds a file to the cache in memory. Returns the file's id and the write that stores the file
     * on this device.
     *
     * @param {Blob} file
     * @returns {[string, import("../types.js").Write]}
     */
    #keep(file) {
        const id = this.#engine.makeID();
        this.#engine.files.keep(id, file);
        return [id, { key: fileKey(id), value: file }];
    }
}
