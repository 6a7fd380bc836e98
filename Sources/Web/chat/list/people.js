import { texts } from "../texts.js";

/**
 * @typedef {import("../../client/client.js").Client} Client
 * @typedef {import("../../client/types.js").Chat} Chat
 * @typedef {import("../../client/types.js").Message} Message
 */

/** Letters of a user's id in place of an unknown name. */
const idLength = 8;
/** How long a name is waited for that is not known yet. */
const nameMilliseconds = 1000;

/** The names and pictures of users, from what the client has loaded of their profiles. */
export class People {
    /** @param {Client} client */
    constructor(client) {
        this.client = client;
    }

    /**
     * A user; until the profile is loaded, somebody, and without a name a part of the id.
     *
     * @param {string} user
     * @returns {{name: string, photo?: string}}
     */
    person(user) {
        const profile = this.client.profile(user);
        if (!profile) return { name: texts.message.unknown };
        return {
            name: profile.name || profile.email || user.slice(0, idLength),
            photo: profile.photo,
        };
    }

    /**
     * The name of a user who may have been a stranger so far; none if it is not found soon.
     *
     * @param {string} user
     * @returns {Promise<string>}
     */
    async findName(user) {
        const { client } = this;
        if (!client.profile(user)) {
            /** @type {PromiseWithResolvers<void>} */
            const { promise, resolve } = Promise.withResolvers();
            const stop = client.subscribe(() => client.profile(user) && resolve());
            const timer = setTimeout(resolve, nameMilliseconds);
            client.loadProfiles([user]);
            await promise;
            clearTimeout(timer);
            stop();
        }
        return client.profile(user) ? this.person(user).name : "";
    }

    /**
     * Who has sent a message, as the reader calls them.
     *
     * @param {Message} message
     */
    sender(message) {
        return message.isMine ? texts.message.you : this.person(message.from).name;
    }

    /** @param {Chat} chat */
    others(chat) {
        return chat.participants.filter((user) => user !== this.client.user);
    }

    /**
     * The title of a chat; where it has none, the names of its people.
     *
     * @param {Chat} chat
     */
    title(chat) {
        if (chat.title) return chat.title;
        const names = this.others(chat).map((user) => this.person(user).name);
        return names.sort((a, b) => a.localeCompare(b)).join(", ") || texts.chats.untitled;
    }

    /**
     * The last message of a chat in the list.
     *
     * @param {Chat} chat
     */
    preview(chat) {
        if (!chat.last) return chat.lastText || texts.chats.noMessages;
        if (chat.lastFrom === this.client.user) return texts.chats.you(chat.lastText);
        const isGroup = chat.participants.length > 2;
        if (!isGroup || !chat.lastFrom) return chat.lastText;
        return `${this.person(chat.lastFrom).name}: ${chat.lastText}`;
    }

    /**
     * Whose picture and colour a chat has: the other's in a chat of two, else its own.
     *
     * @param {Chat} chat
     * @returns {{key: string, photo?: string}}
     */
    face(chat) {
        const user = this.partner(chat);
        return user ? { key: user, photo: this.person(user).photo } : { key: chat.id };
    }

    /**
     * The other person of a chat of two.
     *
     * @param {Chat} chat
     * @returns {string | undefined}
     */
    partner(chat) {
        const [other, ...more] = this.others(chat);
        return more.length === 0 ? other : undefined;
    }
}
