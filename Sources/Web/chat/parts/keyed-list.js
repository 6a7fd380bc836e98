/**
 * A list on the page with one component (a DOM element) per item. An item keeps its component as
 * long as its key stays in the list, so focus, scroll position and running animations survive a
 * rendering.
 *
 * @template Item
 */
export class KeyedList {
    /** @type {Map<string, {element: HTMLElement, render: (item: Item) => void}>} */
    #components = new Map();

    /**
     * @param {HTMLElement} parent an element with no other children than the list's
     * @param {(item: Item) => string} key
     * @param {(item: Item) => {element: HTMLElement, render: (item: Item) => void}} make
     */
    constructor(parent, key, make) {
        this.parent = parent;
        this.key = key;
        this.make = make;
    }

    /** @param {Item[]} items */
    render(items) {
        const focused = document.activeElement;
        const components = new Map();
        for (const item of items) {
            const key = this.key(item);
            const component = this.#components.get(key) ?? this.make(item);
            component.render(item);
            components.set(key, component);
        }
        for (const [key, component] of this.#components) {
            if (!components.has(key)) component.element.remove();
        }
        this.#components = components;
        this.#order();
        // Moving an element in the DOM takes the focus from it, so it is focused again.
        if (
            focused instanceof HTMLElement && focused !== document.activeElement &&
            this.parent.contains(focused)
        ) {
            focused.focus({ preventScroll: true });
        }
    }

    /** Reorders the elements to match the items, moving only elements that are out of order. */
    #order() {
        let next = this.parent.firstElementChild;
        for (const { element } of this.#components.values()) {
            if (element === next) next = next.nextElementSibling;
            else this.parent.insertBefore(element, next);
        }
    }

    /** @param {string} key */
    get(key) {
        return this.#components.get(key);
    }
}
