/** @import { Profiles } from "./profiles.js" */
/** @import { Views } from "../views/views.js" */

/** @typedef {import("../types.js").Chat} Chat */
/** @typedef {import("../types.js").Message} Message */

/** The search in the chats and messages that this device has loaded. */
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
     * Returns the loaded chats and messages that contain all searched words.
     *
     * @param {string} words
     * @returns {{chats: Chat[], messages: Message[]}} the matches, the latest first
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
 * Returns a function that reports whether a text contains all words, ignoring case and accents.
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
    // Converts to upper case first, since "ß" becomes "SS" only in upper case.
    return text.toUpperCase().toLowerCase().normalize("NFD").replace(/\p{M}/gu, "");
}
