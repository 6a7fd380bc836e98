import { MessageRow } from "./message-row.js";

/**
 * @typedef {import("./message-row.js").MessageActions} MessageActions
 * @typedef {import("./message-row.js").MessageRowView} MessageRowView
 * @typedef {import("./row-heights.js").RowHeights} RowHeights
 */

/** The maximum number of message rows that are kept outside the DOM for reuse. */
const spareMax = 40;

/** The rows of a virtualized message list that are in the DOM: those near the visible part. */
export class MountedRows {
    /** @type {Map<string, MessageRow>} */
    #rows = new Map();
    /** @type {MessageRow[]} */
    #spare = [];

    /**
     * @param {HTMLElement} parent an element with no other children than the rows
     * @param {MessageActions} actions
     * @param {ResizeObserver} sizes observes each row in the DOM
     */
    constructor(parent, actions, sizes) {
        this.parent = parent;
        this.actions = actions;
        this.sizes = sizes;
    }

    /** @param {string} key */
    get(key) {
        return this.#rows.get(key);
    }

    /**
     * Adds the rows in `wanted` to the DOM, in the order of the map, and removes all other rows.
     *
     * @param {Map<string, MessageRowView>} wanted
     * @param {{active: string | undefined, shouldRender: boolean}} options the key of the row that
     *     the Tab key reaches, and whether to render rows that are already in the DOM
     */
    mount(wanted, { active, shouldRender }) {
        for (const [key, row] of this.#rows) {
            if (!wanted.has(key)) this.#unmount(key, row);
        }
        /** @type {Element | null} */
        let next = this.parent.firstElementChild;
        for (const [key, view] of wanted) {
            const present = this.#rows.get(key);
            const row = present ?? this.#spare.pop() ?? new MessageRow(this.actions);
            if (!present || shouldRender) {
                row.render(view);
                row.setActive(key === active);
            }
            this.#rows.set(key, row);
            if (row.element === next) next = next.nextElementSibling;
            else this.parent.insertBefore(row.element, next);
            if (!present) this.sizes.observe(row.element);
        }
    }

    /**
     * @param {string} key
     * @param {MessageRow} row
     */
    #unmount(key, row) {
        this.#rows.delete(key);
        this.sizes.unobserve(row.element);
        row.element.remove();
        row.swipe.close();
        if (this.#spare.length < spareMax) this.#spare.push(row);
    }

    /**
     * @param {RowHeights} heights
     * @returns {boolean} whether a height differs from the height recorded before
     */
    measure(heights) {
        let isChanged = false;
        for (const [key, row] of this.#rows) {
            if (heights.set(key, row.element.offsetHeight)) isChanged = true;
        }
        return isChanged;
    }

    /** @param {(key: string) => number} top */
    place(top) {
        for (const [key, row] of this.#rows) {
            row.element.style.transform = `translateY(${top(key)}px)`;
        }
    }
}
