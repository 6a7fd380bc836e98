import { element } from "./dom.js";
import { icon } from "./icons.js";

/**
 * Returns the placeholder of an empty list: an icon, a title, a sentence and optional buttons.
 *
 * @param {string} iconName
 * @param {string} title
 * @param {string} text
 * @param {...Node} actions
 */
export function emptyState(iconName, title, text, ...actions) {
    return element(
        "div",
        { class: "empty-state" },
        icon(iconName),
        element("p", { class: "empty-title" }, title),
        element("p", { class: "empty-text" }, text),
        ...actions,
    );
}
