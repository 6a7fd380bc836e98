/**
 * A list of components, one for each item, which keeps its component as long as the list has an
 * item with the same key. Focus, scroll position and running animations therefore survive.
 *
 * @template Item
 */
export class KeyedList {
    /** @type {Map<string, {element: HTMLElement, render: (item: Item) => void}>} */
    #components = new Map();

    /**
     * @param {HTMLElement} parent whose only children are those of the list
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
        // A moved element has lost the focus.
        if (
            focused instanceof HTMLElement && focused !== document.activeElement &&
            this.parent.contains(focused)
        ) {
            focused.focus({ preventScroll: true });
        }
    }

    /** Puts the elements into the order of the items, and moves only those that are out of it. */
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
