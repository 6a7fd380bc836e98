import { element } from "./dom.js";
import { icon } from "./icons.js";

/**
 * What a list shows in place of rows: an icon, a title and a sentence.
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
