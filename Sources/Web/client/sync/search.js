/** @import { Views } from "../views/views.js" */

/** @typedef {import("../types.js").Chat} Chat */
/** @typedef {import("../types.js").Message} Message */

/**
 * Returns the loaded chats and messages that contain all searched words, the latest first.
 *
 * @param {string} words @param {Views} views @returns {{chats: Chat[], messages: Message[]}}
 */
export function find(words, views) {
    const matches = matcher(words);
    const names = (/** @type {string[]} */ users) =>
        users.map((user) => views.profile(user)?.name ?? "").join(" ");
    const chats = views.chats().filter((chat) =>
        matches(`${chat.title} ${chat.lastText} ${names(chat.participants)}`)
    );
    const messages = views.messages()
        .filter(({ deletedForEveryone, text }) => !deletedForEveryone && matches(text));
    return { chats, messages: messages.sort((a, b) => a.at < b.at ? 1 : -1) };
}

/**
 * Returns a function that reports whether a text contains all words, ignoring case and accents.
 *
 * @param {string} words @returns {(text: string) => boolean}
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
