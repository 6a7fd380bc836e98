import { element } from "./dom.js";
import { texts } from "../texts.js";

/**
 * The sidebar and the pane beside it. On a phone one of them is shown, so the page's heading is
 * in neither.
 *
 * @param {HTMLElement} sidebar
 * @param {HTMLElement} pane
 */
export function columns(sidebar, pane) {
    const heading = element("h1", { class: "for-readers" }, texts.app);
    return element("main", { class: "columns" }, heading, sidebar, pane);
}
