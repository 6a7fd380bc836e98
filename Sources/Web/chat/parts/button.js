import { element } from "./dom.js";
import { icon } from "./icons.js";

/**
 * Returns an icon button whose name is shown in a tooltip and read by screen readers.
 *
 * @param {string} iconName
 * @param {string} name
 * @param {(event: MouseEvent) => void} action
 * @param {string} [style]
 */
export function iconButton(iconName, name, action, style = "") {
    return element("button", {
        type: "button",
        class: `icon-button ${style}`.trim(),
        "aria-label": name,
        title: name,
        onclick: action,
    }, icon(iconName));
}

/**
 * Returns a button with a text.
 *
 * @param {string} text
 * @param {(event: MouseEvent) => void} action
 * @param {string} [style] "primary" for the main action, "quiet" for a minor one
 */
export function textButton(text, action, style = "") {
    return element("button", {
        type: "button",
        class: `button ${style}`.trim(),
        onclick: action,
    }, text);
}
