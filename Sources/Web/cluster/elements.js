const SVG = "http://www.w3.org/2000/svg";

/**
 * Returns a new SVG element.
 *
 * @param {string} name
 * @param {Record<string, string | number>} [attributes]
 * @param {(Node | string)[]} children
 */
export function drawn(name, attributes = {}, ...children) {
    const element = document.createElementNS(SVG, name);
    set(element, attributes);
    element.append(...children);
    return element;
}

/**
 * Returns a new HTML element.
 *
 * @template {keyof HTMLElementTagNameMap} Name
 * @param {Name} name
 * @param {Record<string, string | number>} [attributes]
 * @param {(Node | string)[]} children
 */
export function made(name, attributes = {}, ...children) {
    const element = document.createElement(name);
    set(element, attributes);
    element.append(...children);
    return element;
}

/** @param {Element} element @param {Record<string, string | number>} attributes */
export function set(element, attributes) {
    for (const [name, value] of Object.entries(attributes)) {
        if (element.getAttribute(name) !== `${value}`) element.setAttribute(name, `${value}`);
    }
}

/**
 * Sets the text of a DOM node if it differs from the current text, so that screen readers announce
 * only changes.
 * @param {Node} node
 * @param {string} text
 */
export function setText(node, text) {
    if (node.textContent !== text) node.textContent = text;
}

/**
 * Returns the first element that matches a selector, or throws if there is none.
 *
 * @param {string} selector
 * @returns {HTMLElement}
 */
export function found(selector) {
    const element = document.querySelector(selector);
    if (!(element instanceof HTMLElement)) throw new Error(`the page has no ${selector}`);
    return element;
}
