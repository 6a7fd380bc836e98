import { element } from "./dom.js";

const clearMilliseconds = 4000;

/**
 * The live region through which screen readers hear what happens elsewhere on the page. It says
 * the latest text only: a reader that lags behind skips what is out of date.
 */
export class Announcer {
    element = element("div", { class: "for-readers", role: "status", "aria-live": "polite" });
    #timer = 0;

    /** @param {string} text */
    say(text) {
        clearTimeout(this.#timer);
        this.element.textContent = text;
        // A text that stays would be found again by who reads the page from its end.
        this.#timer = setTimeout(() => this.element.textContent = "", clearMilliseconds);
    }
}
