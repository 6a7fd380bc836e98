import { showFailure } from "../dialogs/alert.js";

/**
 * @typedef {import("../../client/types.js").Message} Message
 * @typedef {{message: string, text: string, isSaving: boolean}} Edit
 */

/**
 * The user's current edit of a message, until it is confirmed by a node, stored for sending later,
 * or cancelled.
 */
export class MessageEdit {
    /** @type {Edit | undefined} */
    #edit;
    /** The ids of messages whose edits are being saved. @type {Set<string>} */
    #saving = new Set();

    /**
     * @param {import("../../client/client.js").Client} client
     * @param {() => string | undefined} openConversation
     * @param {(hasEnded: boolean) => void} onChange
     */
    constructor(client, openConversation, onChange) {
        this.client = client;
        this.openConversation = openConversation;
        this.onChange = onChange;
    }

    get view() {
        return this.#edit;
    }

    /** @param {Message} message */
    begin({ id, text }) {
        this.#set({ message: id, text, isSaving: false });
    }

    cancel() {
        this.#set(undefined);
    }

    /** Discards the unsaved edit of a message when its conversation is closed. */
    forget() {
        this.#edit = undefined;
    }

    /** @param {string} text */
    async save(text) {
        const edit = this.#edit;
        const conversation = this.openConversation();
        if (!edit || !conversation) return;
        const saving = this.client.edit(conversation, edit.message, text);
        this.#saving.add(edit.message);
        // Without a connection, the edit is stored and sent later, so the edit bar closes at once.
        const isQueued = this.client.connection !== "online";
        this.#set(isQueued ? undefined : { ...edit, isSaving: true });
        try {
            await saving;
            if (this.#edit?.message === edit.message) this.#set(undefined);
        } catch (error) {
            if (this.openConversation() === conversation) this.#set({ ...edit, text });
            showFailure(error);
        } finally {
            this.#saving.delete(edit.message);
        }
    }

    /**
     * Whether the edit of a message comes back into the edit bar if it is rejected.
     *
     * @param {string} message
     */
    isSaving(message) {
        return this.openConversation() !== undefined && this.#saving.has(message);
    }

    /** @param {Edit | undefined} edit */
    #set(edit) {
        const hasEnded = this.#edit !== undefined && !edit;
        this.#edit = edit;
        this.onChange(hasEnded);
    }
}
