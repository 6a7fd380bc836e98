/**
 * A roving tabindex: the arrow keys move the focus through a list, so that the Tab key stops at the
 * list once and not at each row.
 */
export class RovingFocus {
    #index = 0;

    /**
     * @param {HTMLElement} list
     * @param {string} selector the selector of the focusable element in each row
     */
    constructor(list, selector) {
        this.list = list;
        this.selector = selector;
        list.addEventListener("keydown", (event) => this.#onKey(event));
        list.addEventListener("focusin", (event) => this.#onFocus(event));
    }

    /**
     * Renders the list with `render`. If the focused row was removed, the focus moves to its
     * successor.
     *
     * @param {() => void} render
     */
    around(render) {
        const hadFocus = this.list.contains(document.activeElement);
        render();
        const targets = this.#targets();
        this.#index = Math.max(0, Math.min(this.#index, targets.length - 1));
        for (const [index, target] of targets.entries()) {
            target.tabIndex = index === this.#index ? 0 : -1;
        }
        if (hadFocus && !this.list.contains(document.activeElement)) targets[this.#index]?.focus();
    }

    /** @returns {HTMLElement[]} */
    #targets() {
        return [...this.list.querySelectorAll(this.selector)]
            .filter((target) => target instanceof HTMLElement);
    }

    /** @param {FocusEvent} event */
    #onFocus(event) {
        const targets = this.#targets();
        const index = targets.findIndex((target) => target === event.target);
        if (index < 0) return;
        const previous = targets[this.#index];
        if (previous) previous.tabIndex = -1;
        targets[index].tabIndex = 0;
        this.#index = index;
    }

    /** @param {KeyboardEvent} event */
    #onKey(event) {
        const targets = this.#targets();
        if (!targets.some((target) => target === event.target)) return;
        const target = {
            ArrowUp: this.#index - 1,
            ArrowDown: this.#index + 1,
            Home: 0,
            End: targets.length - 1,
        }[event.key];
        if (target === undefined || !targets[target]) return;
        event.preventDefault();
        targets[target].focus();
    }
}
