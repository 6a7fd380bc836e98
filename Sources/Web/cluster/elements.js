const SVG = "http://www.w3.org/2000/svg";

/**
 * Makes an element of a drawing.
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
 * Makes an element of the page.
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

/** Sets a text where it is another one: readers of the screen are told of changes only. @param {Node} node @param {string} text */
export function setText(node, text) {
    if (node.textContent !== text) node.textContent = text;
}

/**
 * The only element that a selector finds.
 *
 * @param {string} selector
 * @returns {HTMLElement}
 */
export function found(selector) {
    const element = document.querySelector(selector);
    if (!(element instanceof HTMLElement)) throw new Error(`the page has no ${selector}`);
    return element;
}
