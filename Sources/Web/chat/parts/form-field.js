import { element, uniqueID } from "./dom.js";

/**
 * Returns a form field with a label and an optional hint.
 *
 * @param {string} label
 * @param {Record<string, import("./dom.js").Attribute>} attributes the attributes of the input
 * @param {string} [hint]
 */
export function formField(label, attributes, hint) {
    const [id, hintID] = [uniqueID(), uniqueID()];
    const input = element("input", {
        id,
        class: "field-input",
        ...attributes,
        "aria-describedby": hint ? hintID : undefined,
    });
    const hintText = hint ? element("span", { id: hintID, class: "field-hint" }, hint) : undefined;
    const field = element(
        "div",
        { class: "field" },
        element("label", { for: id, class: "field-label" }, label),
        input,
        hintText,
    );
    return { element: field, input, hint: hintText };
}

/** Returns the element for a form's error message, an ARIA alert read by screen readers. */
export function formFailure() {
    return element("p", { class: "form-failure", role: "alert" });
}
