import { element } from "./dom.js";

const clearMilliseconds = 4000;

/**
 * The ARIA live region that announces events elsewhere on the page to screen readers. It holds only
 * the latest text, so that a slow screen reader skips outdated texts.
 */
export class Announcer {
    element = element("div", { class: "for-readers", role: "status", "aria-live": "polite" });
    #timer = 0;

    /** @param {string} text */
    say(text) {
        clearTimeout(this.#timer);
        this.element.textContent = text;
        // The text is removed, so that a screen reader user who reads the page from its end does
        // not read the text again.
        this.#timer = setTimeout(() => this.element.textContent = "", clearMilliseconds);
    }
}
