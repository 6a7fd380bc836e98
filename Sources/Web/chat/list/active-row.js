/**
 * The order of a list's rows: `index` returns the index of the row with a key, `key` the key of the
 * row at an index, and `count` the number of rows; `show` scrolls to the row at an index.
 *
 * @typedef {{
 *   index: (key: string) => number | undefined,
 *   key: (index: number) => string | undefined,
 *   count: () => number,
 *   show: (index: number) => void,
 * }} RowOrder
 */

/**
 * The row of a list that the Tab key focuses (roving tabindex); the arrow keys, Home and End move
 * the focus to another row.
 */
export class ActiveRow {
    /** @type {string | undefined} */
    #key;

    /**
     * @param {HTMLElement} list
     * @param {import("../conversation/mounted-rows.js").MountedRows} rows
     * @param {RowOrder} order
     */
    constructor(list, rows, order) {
        this.list = list;
        this.rows = rows;
        this.order = order;
        list.addEventListener("keydown", (event) => this.#onKey(event));
        list.addEventListener("focusin", (event) => this.#onFocus(event));
    }

    get key() {
        return this.#key;
    }

    /**
     * Makes the last row the one that the Tab key focuses, in two cases: the previous such row is
     * gone, or the list is scrolled to its end and the focus is outside the list.
     *
     * @param {boolean} isAtEnd
     */
    settle(isAtEnd) {
        const isKept = this.#key !== undefined && this.order.index(this.#key) !== undefined;
        const isUsed = !isAtEnd || this.list.contains(document.activeElement);
        if (!isKept || !isUsed) this.#key = this.order.key(this.order.count() - 1);
    }

    forget() {
        this.#key = undefined;
    }

    /**
     * @param {string} key
     * @param {boolean} [shouldFocus]
     */
    activate(key, shouldFocus = false) {
        if (this.#key) this.rows.get(this.#key)?.setActive(false);
        this.#key = key;
        const row = this.rows.get(key);
        row?.setActive(true);
        if (shouldFocus) row?.element.focus({ preventScroll: true });
    }

    /** The index of the row with the focus; undefined if the focus is outside the list. */
    get focusedIndex() {
        const focused = document.activeElement;
        if (!focused || focused === document.body || !this.list.contains(focused)) {
            return undefined;
        }
        return this.order.index(keyOf(focused) ?? "");
    }

    /**
     * Focuses the neighbour of a removed row if the focus was lost with the row.
     *
     * @param {number} index
     */
    refocus(index) {
        if (this.focusedIndex !== undefined) return;
        const key = this.order.key(Math.min(index, this.order.count() - 1));
        if (key !== undefined) this.activate(key, true);
    }

    /** @param {FocusEvent} event */
    #onFocus(event) {
        const key = event.target instanceof Element ? keyOf(event.target) : undefined;
        if (key && key !== this.#key) this.activate(key);
    }

    /** @param {KeyboardEvent} event */
    #onKey(event) {
        if (!(event.target instanceof Element)) return;
        if (!event.target.matches(".message-row")) return;
        const index = this.order.index(this.#key ?? "") ?? this.order.count();
        const target = {
            ArrowUp: index - 1,
            ArrowDown: index + 1,
            Home: 0,
            End: this.order.count() - 1,
        }[event.key];
        const key = target === undefined ? undefined : this.order.key(target);
        if (target === undefined || key === undefined) return;
        event.preventDefault();
        this.order.show(target);
        this.activate(key, true);
    }
}

/** @param {Element} target an element inside a row of the list */
function keyOf(target) {
    return target.closest(".message-row")?.getAttribute("data-id");
}
