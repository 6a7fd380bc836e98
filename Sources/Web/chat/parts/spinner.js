import { element } from "./dom.js";
import { texts } from "../texts.js";

/** Returns a loading spinner. */
export function spinner() {
    return element(
        "div",
        { class: "spinner-place", role: "status" },
        element("span", { class: "spinner", "aria-hidden": "true" }),
        element("span", { class: "for-readers" }, texts.loading),
    );
}
