/**
 * Functions that create and change DOM elements.
 *
 * The functions write only values that differ from those in the DOM, so that rendering the same
 * view twice keeps the focus and the selection, and announces nothing to screen readers.
 */

/** @typedef {string | number | boolean | undefined | ((event: any) => void)} Attribute */

/**
 * Returns a new element. If the value of an attribute such as `onclick` is a function, it becomes
 * the listener of the event whose name follows "on". True sets an empty attribute; false and
 * undefined set none.
 *
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, Attribute>} [attributes]
 * @param {...(Node | string | undefined)} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function element(tag, attributes = {}, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
        if (typeof value === "function") made.addEventListener(name.slice(2), value);
        else setAttribute(made, name, value);
    }
    made.append(...children.filter((child) => child !== undefined));
    return made;
}

/**
 * @param {Element} target
 * @param {string} name
 * @param {string | number | boolean | undefined} value
 */
export function setAttribute(target, name, value) {
    if (value === undefined || value === false) {
        if (target.hasAttribute(name)) target.removeAttribute(name);
        return;
    }
    const text = value === true ? "" : String(value);
    if (target.getAttribute(name) !== text) target.setAttribute(name, text);
}

/**
 * @param {Node} target
 * @param {string} text
 */
export function setText(target, text) {
    if (target.textContent !== text) target.textContent = text;
}

/**
 * Shows an element if `isShown` is true, and hides it otherwise.
 *
 * @param {HTMLElement} target
 * @param {boolean} isShown
 */
export function setShown(target, isShown) {
    if (target.hidden === isShown) target.hidden = !isShown;
}

/**
 * Replaces the children of an element with `children`, unless they are the same already.
 *
 * @param {Element} target
 * @param {...Node} children
 */
export function setChildren(target, ...children) {
    const present = target.childNodes;
    const isSame = present.length === children.length &&
        children.every((child, index) => child === present[index]);
    if (!isSame) target.replaceChildren(...children);
}

let count = 0;

/** Returns an id that no other element of the page has. */
export function uniqueID() {
    count += 1;
    return `e${count}`;
}
