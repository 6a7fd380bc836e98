import { element } from "./dom.js";
import { icon } from "./icons.js";

/**
 * A button that shows an icon and says its name to screen readers and in a tooltip.
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
 * A button with a text.
 *
 * @param {string} text
 * @param {(event: MouseEvent) => void} action
 * @param {string} [style] "primary" for what most want, "quiet" for the rest
 */
export function textButton(text, action, style = "") {
    return element("button", {
        type: "button",
        class: `button ${style}`.trim(),
        onclick: action,
    }, text);
}
