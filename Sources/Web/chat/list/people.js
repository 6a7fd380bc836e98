import { texts } from "../texts.js";

/**
 * @typedef {import("../../client/client.js").Client} Client
 * @typedef {import("../../client/types.js").Chat} Chat
 * @typedef {import("../../client/types.js").Message} Message
 */

/** The number of letters of a user's id shown in place of a missing name. */
const idLength = 8;
/** Milliseconds to wait for the profile of a user whose profile is not loaded. */
const nameMilliseconds = 1000;

/** The names and pictures of users, from the profiles that the client has loaded. */
export class People {
    /** @param {Client} client */
    constructor(client) {
        this.client = client;
    }

    /**
     * Returns a user's name and picture. The name is "Somebody" until the profile is loaded; a
     * missing name is replaced by the e-mail address or the start of the id.
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
     * Returns the name of a user, loading the profile if necessary; an empty string if the profile
     * does not arrive within 1 s.
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
     * Returns the displayed name of a message's sender; "You" for the user's own messages.
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
     * Returns the title of a chat, or the names of the other participants if the chat has none.
     *
     * @param {Chat} chat
     */
    title(chat) {
        if (chat.title) return chat.title;
        const names = this.others(chat).map((user) => this.person(user).name);
        return names.sort((a, b) => a.localeCompare(b)).join(", ") || texts.chats.untitled;
    }

    /**
     * Returns the preview of a chat's last message for the chat list.
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
     * Returns the picture of a chat and the key from which the picture's colour is derived. A chat
     * with two participants has the other participant's picture and id; any other chat has no
     * picture, and the chat's id as the key.
     *
     * @param {Chat} chat
     * @returns {{key: string, photo?: string}}
     */
    face(chat) {
        const user = this.partner(chat);
        return user ? { key: user, photo: this.person(user).photo } : { key: chat.id };
    }

    /**
     * Returns the other participant of a chat with two participants; undefined for other chats.
     *
     * @param {Chat} chat
     * @returns {string | undefined}
     */
    partner(chat) {
        const [other, ...more] = this.others(chat);
        return more.length === 0 ? other : undefined;
    }
}
