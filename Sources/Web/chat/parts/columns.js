import { element } from "./dom.js";
import { texts } from "../texts.js";

/**
 * Returns the page's main element with the sidebar and the pane. The page's heading is in neither
 * of the two, since on a phone only one of them is shown.
 *
 * @param {HTMLElement} sidebar
 * @param {HTMLElement} pane
 */
export function columns(sidebar, pane) {
    const heading = element("h1", { class: "for-readers" }, texts.app);
    return element("main", { class: "columns" }, heading, sidebar, pane);
}
