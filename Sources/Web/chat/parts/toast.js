import { element, setShown } from "./dom.js";
import { textButton } from "./button.js";

/** Milliseconds that a toast is shown, enough to read it and to reach its button by keyboard. */
const shownMilliseconds = 10_000;

/**
 * A notification at the bottom of the page with at most one action, usually "Undo". A new toast
 * replaces the current one. A toast stays while the pointer is over it or it has the focus. When a
 * toast that has the focus is hidden, the focus returns to the element that had it before.
 */
export class Toast {
    #text = element("span", { class: "toast-text" });
    /** @type {(() => void) | undefined} */
    #action;
    #button = textButton("", () => {
        const action = this.#action;
        this.hide();
        action?.();
    }, "toast-button");
    #timer = 0;
    /** @type {HTMLElement | undefined} */
    #before;
    #note = element("div", { class: "toast", hidden: true }, this.#text, this.#button);
    element = element("div", { class: "toast-place", role: "status" }, this.#note);

    constructor() {
        this.#note.addEventListener("focusin", ({ relatedTarget }) => {
            this.#before = relatedTarget instanceof HTMLElement ? relatedTarget : undefined;
        });
        for (const event of ["pointerenter", "focusin"]) {
            this.#note.addEventListener(event, () => clearTimeout(this.#timer));
        }
        for (const event of ["pointerleave", "focusout"]) {
            this.#note.addEventListener(event, () => this.#start());
        }
    }

    /**
     * @param {string} text
     * @param {{label: string, action: () => void}} [choice]
     */
    show(text, choice) {
        this.#text.textContent = text;
        this.#button.textContent = choice?.label ?? "";
        setShown(this.#button, choice !== undefined);
        this.#action = choice?.action;
        setShown(this.#note, true);
        this.#start();
    }

    hide() {
        clearTimeout(this.#timer);
        this.#action = undefined;
        if (this.#note.contains(document.activeElement)) this.#before?.focus();
        setShown(this.#note, false);
    }

    #start() {
        clearTimeout(this.#timer);
        this.#timer = setTimeout(() => this.hide(), shownMilliseconds);
    }
}
