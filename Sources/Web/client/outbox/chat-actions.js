/** @import { ConfirmedState } from "../store/confirmed.js" */
/** @import { Outbox } from "./outbox.js" */

/** The user's actions on chats: create, archive, hide and leave. */
export class ChatActions {
    #outbox;
    #confirmed;
    #makeID;

    /**
     * @param {{
     *   outbox: Outbox,
     *   confirmed: () => ConfirmedState,
     *   makeID: () => string,
     * }} parts
     */
    constructor({ confirmed, makeID, outbox }) {
        this.#outbox = outbox;
        this.#confirmed = confirmed;
        this.#makeID = makeID;
    }

    /**
     * Creates a conversation with the users who have the given e-mail addresses.
     *
     * @param {{title?: string, emails: string[]}} options at most 20 addresses
     * @returns {Promise<string>} the conversation's id, once the cluster has created it; rejects
     *     with 404 if no user has one of the addresses
     */
    async create({ title = "", emails }) {
        const conversation = this.#makeID();
        // Nodes of an earlier version accept only `email`, a single address.
        const people = emails.length === 1 ? { email: emails[0] } : { emails };
        await this.#outbox.add(conversation, { kind: "create", conversation, title, ...people });
        return conversation;
    }

    /** @param {string} conversation */
    archive(conversation) {
        return this.#outbox.perform(conversation, { kind: "archive", conversation });
    }

    /** @param {string} conversation */
    unarchive(conversation) {
        return this.#outbox.perform(conversation, { kind: "unarchive", conversation });
    }

    /**
     * Hides a chat in the user's own chat list until a new message arrives in the chat.
     *
     * @param {string} conversation
     */
    hide(conversation) {
        const { row, stretch } = this.#confirmed().conversation(conversation);
        const through = stretch.at(-1)?.at ?? row?.lastAt ?? row?.createdAt ?? "";
        return this.#outbox.perform(conversation, { kind: "hide", conversation, through });
    }

    /** @param {string} conversation */
    leave(conversation) {
        return this.#outbox.perform(conversation, { kind: "leave", conversation });
    }
}
