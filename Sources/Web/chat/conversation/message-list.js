import { ActiveRow } from "../list/active-row.js";
import { element, setAttribute } from "../parts/dom.js";
import { MountedRows } from "./mounted-rows.js";
import { RowHeights } from "./row-heights.js";

/**
 * @typedef {import("./message-row.js").MessageActions} MessageActions
 * @typedef {import("./message-row.js").MessageRowView} MessageRowView
 */

/**
 * The distance above and below the visible part of the list, in CSS pixels, within which rows are
 * in the DOM.
 */
const overscan = 600;
/**
 * The greatest distance of the scroll position from the list's end, in CSS pixels, at which the
 * list scrolls along with new messages.
 */
const endDistance = 80;
/**
 * The most rounds of layout per update of the list. A further round is needed if the heights
 * measured in one round bring other rows into the visible part.
 */
const roundsMax = 4;
const highlightMilliseconds = 1600;

/**
 * The virtualized list of a conversation's messages. Only rows near the visible part are in the
 * DOM, so that 10,000 messages scroll as fast as 100.
 *
 * The visible rows do not move when rows above them change: after each change, the list restores
 * the position of the first visible row, or stays at the end.
 */
export class MessageList {
    /** @type {MessageRowView[]} */
    #rows = [];
    /** @type {Map<string, number>} */
    #indices = new Map();
    #heights = new RowHeights();
    #isAtEnd = true;
    #width = 0;
    #height = 0;
    #frame = 0;
    #earlierAsked = -1;

    #sizer = element("div", { class: "message-sizer", role: "feed" });
    element = element("div", { class: "message-list" }, this.#sizer);

    /**
     * @param {string} name the label for screen readers
     * @param {MessageActions} actions
     * @param {{onEarlier: () => void, onEndChange: (isAtEnd: boolean) => void}} events
     */
    constructor(name, actions, events) {
        this.events = events;
        this.#sizer.setAttribute("aria-label", name);
        this.element.addEventListener("scroll", () => this.#onScroll(), { passive: true });
        const sizes = new ResizeObserver(() => this.#onResize());
        sizes.observe(this.element);
        this.mounted = new MountedRows(this.#sizer, actions, sizes);
        this.active = new ActiveRow(this.#sizer, this.mounted, {
            index: (key) => this.#indices.get(key),
            key: (index) => this.#rows[index]?.key,
            count: () => this.#rows.length,
            show: (index) => this.#showIndex(index),
        });
    }

    get isAtEnd() {
        return this.#isAtEnd;
    }

    /** @param {{rows: MessageRowView[], hasEarlier: boolean}} view */
    render({ rows, hasEarlier }) {
        const before = this.#rows;
        const anchor = this.#anchor();
        const focus = this.active.focusedIndex;
        this.#rows = rows;
        this.#indices = new Map(rows.map((row, index) => [row.key, index]));
        this.hasEarlier = hasEarlier;
        const last = rows.at(-1);
        const isNewOwn = last !== undefined && last.message.isMine && rows.length > before.length &&
            last.key !== before.at(-1)?.key;
        if (isNewOwn) this.#isAtEnd = true;
        this.active.settle(this.#isAtEnd);
        // Screen readers report an ARIA feed without rows as broken, so an empty list is a group.
        setAttribute(this.#sizer, "role", rows.length > 0 ? "feed" : "group");
        this.#update(this.#isAtEnd ? undefined : anchor, true);
        if (focus !== undefined) this.active.refocus(focus);
    }

    /** Scrolls to the newest message. */
    scrollToEnd() {
        this.#isAtEnd = true;
        this.#update(undefined, false);
    }

    /**
     * Scrolls the list so that the top of a message is a third of the list's height below the top
     * of the list, or as near to that position as possible.
     *
     * @param {string} key
     * @returns {boolean} whether the list has the message and is visible
     */
    scrollTo(key) {
        if (!this.#indices.has(key) || this.element.clientHeight === 0) return false;
        this.#update({ key, top: this.element.clientHeight / 3 }, false);
        this.#noteEnd();
        return true;
    }

    /**
     * Scrolls to a message and highlights it for 1.6 s.
     *
     * @param {string} key
     * @returns {boolean} whether the list has the message and is visible
     */
    reveal(key) {
        if (!this.scrollTo(key)) return false;
        const row = this.mounted.get(key);
        row?.element.classList.add("is-revealed");
        setTimeout(() => row?.element.classList.remove("is-revealed"), highlightMilliseconds);
        this.active.activate(key);
        return true;
    }

    /** Removes all rows and resets the scroll position before another conversation is shown. */
    reset() {
        this.#rows = [];
        this.#indices.clear();
        this.#isAtEnd = true;
        this.#earlierAsked = -1;
        this.active.forget();
        this.#heights.clear();
    }

    /**
     * Returns the first visible row and its offset from the list's upper edge.
     *
     * @returns {{key: string, top: number} | undefined}
     */
    #anchor() {
        const scrolled = this.element.scrollTop;
        const index = this.#heights.indexAt(scrolled);
        const row = this.#rows[index];
        return row && { key: row.key, top: this.#heights.top(index) - scrolled };
    }

    /**
     * Lays out the rows, and adds the rows near the visible part to the DOM and measures them,
     * until their heights are stable.
     *
     * @param {{key: string, top: number} | undefined} anchor the row to keep in position; undefined
     *     to scroll to the end
     * @param {boolean} isChanged whether to render the rows in the DOM again
     */
    #update(anchor, isChanged) {
        let shouldRender = isChanged;
        for (let round = 0; round < roundsMax; round += 1) {
            this.#layOut();
            this.#scrollTo(anchor);
            this.mounted.mount(this.#wanted(), { active: this.active.key, shouldRender });
            shouldRender = false;
            if (!this.mounted.measure(this.#heights)) break;
        }
        this.mounted.place((key) => this.#heights.top(this.#indices.get(key) ?? 0));
    }

    #layOut() {
        this.#heights.layOut(this.#rows, this.element.clientHeight);
        this.#sizer.style.height = `${this.#heights.total}px`;
    }

    /** @param {{key: string, top: number} | undefined} anchor */
    #scrollTo(anchor) {
        if (!anchor) {
            this.element.scrollTop = this.element.scrollHeight;
            return;
        }
        const index = this.#indices.get(anchor.key);
        if (index !== undefined) this.element.scrollTop = this.#heights.top(index) - anchor.top;
    }

    /** Returns the rows to keep in the DOM: those near the visible part and the focused row. */
    #wanted() {
        const first = this.#heights.indexAt(this.element.scrollTop - overscan);
        const bottom = this.element.scrollTop + this.element.clientHeight + overscan;
        const last = this.#heights.indexAt(bottom);
        const focused = this.active.focusedIndex;
        /** @type {Map<string, MessageRowView>} */
        const wanted = new Map();
        const add = (/** @type {MessageRowView | undefined} */ row) =>
            row && wanted.set(row.key, row);
        if (focused !== undefined && focused < first) add(this.#rows[focused]);
        for (let index = first; index <= last; index += 1) add(this.#rows[index]);
        if (focused !== undefined && focused > last) add(this.#rows[focused]);
        return wanted;
    }

    #onScroll() {
        if (this.#frame) return;
        this.#frame = requestAnimationFrame(() => {
            this.#frame = 0;
            const { clientHeight, clientWidth } = this.element;
            // Scroll events caused by a resize are ignored, so that a list at its end stays there.
            if (clientHeight !== this.#height || clientWidth !== this.#width) return;
            this.#noteEnd();
            this.#update(this.#anchor(), false);
            this.#askEarlier();
        });
    }

    /** Records whether the list is scrolled to within 80 CSS pixels of its end. */
    #noteEnd() {
        const { scrollHeight, scrollTop, clientHeight } = this.element;
        const isAtEnd = scrollHeight - scrollTop - clientHeight < endDistance;
        if (isAtEnd === this.#isAtEnd) return;
        this.#isAtEnd = isAtEnd;
        this.events.onEndChange(isAtEnd);
    }

    /**
     * Requests earlier messages if the list is scrolled near its top, but does not repeat the
     * request until the number of rows has changed.
     */
    #askEarlier() {
        if (!this.hasEarlier || this.element.scrollTop > overscan) return;
        if (this.#earlierAsked === this.#rows.length) return;
        this.#earlierAsked = this.#rows.length;
        this.events.onEarlier();
    }

    /** Updates the layout after a row's height or the list's size has changed. */
    #onResize() {
        const { clientWidth, clientHeight } = this.element;
        if (clientWidth === 0) return;
        const anchor = this.#isAtEnd ? undefined : this.#anchor();
        if (clientWidth !== this.#width) this.#heights.clear();
        this.#width = clientWidth;
        this.#height = clientHeight;
        this.mounted.measure(this.#heights);
        this.#update(anchor, false);
        if (this.#isAtEnd) this.#askEarlier();
    }

    /**
     * Scrolls the minimum distance that makes a row fully visible.
     *
     * @param {number} index
     */
    #showIndex(index) {
        const { scrollTop, clientHeight } = this.element;
        const top = this.#heights.top(index);
        const bottom = top + this.#heights.height(index);
        if (top < scrollTop) this.#update({ key: this.#rows[index].key, top: 0 }, false);
        else if (bottom > scrollTop + clientHeight) {
            const offset = clientHeight - (bottom - top);
            this.#update({ key: this.#rows[index].key, top: offset }, false);
        }
        this.#noteEnd();
    }
}
