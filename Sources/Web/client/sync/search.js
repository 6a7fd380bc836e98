/** @import { Profiles } from "./profiles.js" */
/** @import { Views } from "../views/views.js" */

/** @typedef {import("../types.js").Chat} Chat */
/** @typedef {import("../types.js").Message} Message */

/** The search in what is loaded. */
export class Search {
    #views;
    #profiles;

    /**
     * @param {Views} views
     * @param {Profiles} profiles
     */
    constructor(views, profiles) {
        this.#views = views;
        this.#profiles = profiles;
    }

    /**
     * Finds chats and messages that have all the words.
     *
     * @param {string} words
     * @returns {{chats: Chat[], messages: Message[]}} the latest first
     */
    find(words) {
        const matches = matcher(words);
        const names = (/** @type {string[]} */ users) =>
            users.map((user) => this.#profiles.profile(user)?.name ?? "").join(" ");
        const chats = this.#views.chats().filter((chat) =>
            matches(`${chat.title} ${chat.lastText} ${names(chat.participants)}`)
        );
        const messages = this.#views.messages()
            .filter(({ deletedForEveryone, text }) => !deletedForEveryone && matches(text));
        return { chats, messages: messages.sort((a, b) => a.at < b.at ? 1 : -1) };
    }
}

/**
 * Returns whether a text has all words, each anywhere, without regard to case and accents.
 *
 * @param {string} words
 * @returns {(text: string) => boolean}
 */
export function matcher(words) {
    const wanted = plain(words).split(/\s+/).filter((word) => word !== "");
    return (text) => {
        const searched = plain(text);
        return wanted.length > 0 && wanted.every((word) => searched.includes(word));
    };
}

/** @param {string} text */
function plain(text) {
    // Upper case first, since "ß" is "SS" only there.
    return text.toUpperCase().toLowerCase().normalize("NFD").replace(/\p{M}/gu, "");
}
