import { element } from "./dom.js";
import { icon } from "./icons.js";

/** The width of the button of one swipe action, in CSS pixels. */
const actionWidth = 80;
/** CSS pixels of sideways movement at which a swipe begins; below it the browser scrolls. */
const startMin = 12;

/**
 * @typedef {{title: string, icon: string, style: "blue" | "red" | "grey", action: () => void}}
 *   SwipeAction
 */

/** @type {Swipe | undefined} */
let opened;

/**
 * A row with swipe actions: a swipe towards the leading side uncovers the actions of the trailing
 * side, and vice versa. Swipe actions work only with touch or pen and are hidden otherwise; a row's
 * context menu offers the same actions.
 */
export class Swipe {
    #start = { x: 0, y: 0, offset: 0 };
    #offset = 0;
    #isSwiping = false;
    #wasSwiped = false;
    /** Whether swiping the row is disabled. */
    isLocked = false;

    /**
     * @param {HTMLElement} content
     * @param {{leading?: SwipeAction[], trailing?: SwipeAction[]}} actions
     * @param {keyof HTMLElementTagNameMap} [tag]
     */
    constructor(content, { leading = [], trailing = [] }, tag = "div") {
        this.content = content;
        this.leading = this.#side(leading, "leading");
        this.trailing = this.#side(trailing, "trailing");
        this.widths = {
            leading: leading.length * actionWidth,
            trailing: trailing.length * actionWidth,
        };
        this.element = element(tag, { class: "swipe" }, this.leading, this.trailing, content);
        content.classList.add("swipe-content");
        this.#listen();
    }

    close() {
        if (opened === this) opened = undefined;
        this.#move(0);
    }

    /**
     * @param {SwipeAction[]} actions
     * @param {string} side
     */
    #side(actions, side) {
        const buttons = actions.map((each) =>
            element(
                "button",
                {
                    type: "button",
                    class: `swipe-action ${each.style}`,
                    onclick: () => {
                        this.close();
                        each.action();
                    },
                },
                icon(each.icon),
                element("span", {}, each.title),
            )
        );
        return element("div", { class: `swipe-actions ${side}`, hidden: true }, ...buttons);
    }

    #listen() {
        const content = this.content;
        content.addEventListener("pointerdown", (event) => this.#onDown(event));
        content.addEventListener("pointermove", (event) => this.#onMove(event));
        content.addEventListener("pointerup", () => this.#onUp());
        content.addEventListener("pointercancel", () => this.#onUp());
        content.addEventListener("click", (event) => this.#onClick(event), { capture: true });
    }

    /** @param {PointerEvent} event */
    #onDown(event) {
        this.#wasSwiped = false;
        if (opened && opened !== this) opened.close();
        if (event.pointerType === "mouse") return;
        this.#start = { x: event.clientX, y: event.clientY, offset: this.#offset };
        this.#isSwiping = false;
    }

    /** @param {PointerEvent} event */
    #onMove(event) {
        if (event.pointerType === "mouse" || this.isLocked) return;
        const [x, y] = [event.clientX - this.#start.x, event.clientY - this.#start.y];
        if (!this.#isSwiping) {
            if (Math.abs(x) < startMin || Math.abs(x) < Math.abs(y)) return;
            this.#isSwiping = true;
            this.content.setPointerCapture(event.pointerId);
            this.content.classList.add("is-swiping");
        }
        this.#move(this.#start.offset + x * this.#direction());
    }

    #onUp() {
        if (!this.#isSwiping) return;
        this.#isSwiping = false;
        this.#wasSwiped = true;
        this.content.classList.remove("is-swiping");
        const { leading, trailing } = this.widths;
        if (this.#offset < -trailing / 2 && trailing > 0) this.#open(-trailing);
        else if (this.#offset > leading / 2 && leading > 0) this.#open(leading);
        else this.close();
    }

    /** @param {MouseEvent} event */
    #onClick(event) {
        if (!this.#wasSwiped && opened !== this) return;
        event.preventDefault();
        event.stopPropagation();
        if (!this.#wasSwiped) this.close();
        this.#wasSwiped = false;
    }

    /** @param {number} offset */
    #open(offset) {
        opened = this;
        this.#move(offset);
    }

    /** @param {number} offset the shift towards the trailing side, in CSS pixels */
    #move(offset) {
        const { leading, trailing } = this.widths;
        this.#offset = Math.max(-trailing, Math.min(leading, offset));
        this.leading.hidden = this.#offset <= 0;
        this.trailing.hidden = this.#offset >= 0;
        const shift = this.#offset * this.#direction();
        this.content.style.transform = shift === 0 ? "" : `translateX(${shift}px)`;
    }

    /** Returns 1 if text runs from left to right, otherwise -1. */
    #direction() {
        return getComputedStyle(this.content).direction === "rtl" ? -1 : 1;
    }
}
