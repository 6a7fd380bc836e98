import { element } from "./dom.js";

/** The maximum size of a message text that nodes accept, in bytes of UTF-8. */
const textBytesMax = 16_384;

/**
 * A multi-line text field that grows with its text, up to the style sheet's maximum height.
 *
 * The field has no `maxlength`, since browsers would silently cut pasted text; `excess` is the
 * number of bytes above the limit.
 */
export class TextField {
    /**
     * @param {string} name the label for screen readers, and the placeholder
     * @param {Record<string, import("./dom.js").Attribute>} attributes
     * @param {{onChange: () => void, onEnter: () => void}} events
     */
    constructor(name, attributes, { onChange, onEnter }) {
        this.onEnter = onEnter;
        this.element = element("textarea", {
            rows: 1,
            placeholder: name,
            "aria-label": name,
            dir: "auto",
            ...attributes,
            oninput: () => {
                this.fit();
                onChange();
            },
        });
        this.element.addEventListener("keydown", (event) => this.#onKey(event));
    }

    get value() {
        return this.element.value;
    }

    set value(text) {
        this.element.value = text;
        this.fit();
    }

    /** The number of bytes by which the text exceeds the nodes' limit; otherwise 0. */
    get excess() {
        return Math.max(0, new TextEncoder().encode(this.value).length - textBytesMax);
    }

    get isBlank() {
        return this.value.trim() === "";
    }

    /** Sets the field's height to that of its text, in browsers without CSS `field-sizing`. */
    fit() {
        if (CSS.supports("field-sizing", "content")) return;
        this.element.style.height = "auto";
        const { offsetHeight, clientHeight, scrollHeight } = this.element;
        if (scrollHeight > 0) {
            this.element.style.height = `${scrollHeight + offsetHeight - clientHeight}px`;
        }
    }

    /** @param {KeyboardEvent} event */
    #onKey(event) {
        // On touch devices Enter inserts a new line, and the button sends.
        const isPhone = matchMedia("(pointer: coarse)").matches;
        if (event.key !== "Enter" || event.shiftKey || event.isComposing || isPhone) return;
        event.preventDefault();
        this.onEnter();
    }
}
