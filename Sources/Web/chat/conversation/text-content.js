import { element } from "../parts/dom.js";

/** @typedef {import("./message-content.js").ContentView} ContentView */

const address = /https?:\/\/[^\s<>"]+[^\s<>".,;:!?)\]}'’”]/gu;
const onlyEmoji = /^(?:\p{Emoji_Presentation}|\p{Emoji}\uFE0F|\u200D|\p{Emoji_Modifier}){1,8}$/u;

/** The content of a text message, with web addresses as links. */
export class TextContent {
    #text = "";
    element = element("p", { class: "text-content", dir: "auto" });

    /** @param {ContentView} view */
    render({ message }) {
        if (message.text === this.#text) return;
        this.#text = message.text;
        this.element.classList.toggle("is-emoji", onlyEmoji.test(message.text));
        this.element.replaceChildren(...withLinks(message.text));
    }
}

/**
 * @param {string} text
 * @returns {(string | HTMLAnchorElement)[]}
 */
export function withLinks(text) {
    const parts = [];
    let end = 0;
    for (const match of text.matchAll(address)) {
        parts.push(text.slice(end, match.index));
        const attributes = { href: match[0], target: "_blank", rel: "noopener noreferrer" };
        parts.push(element("a", attributes, match[0]));
        end = match.index + match[0].length;
    }
    parts.push(text.slice(end));
    return parts.filter((part) => part !== "");
}
