/**
 * Functions that make and change elements.
 *
 * They touch only what differs, so that rendering the same view twice moves no focus, ends no
 * selection, and announces nothing.
 */

/** @typedef {string | number | boolean | undefined | ((event: any) => void)} Attribute */

/**
 * Creates an element. An attribute whose name begins with "on" is a listener; true stands for an
 * attribute without a value, and false and undefined for none.
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
 * Shows an element where `isShown` is true.
 *
 * @param {HTMLElement} target
 * @param {boolean} isShown
 */
export function setShown(target, isShown) {
    if (target.hidden === isShown) target.hidden = !isShown;
}

/**
 * Makes `children` the only children of an element, unless they are so already.
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
