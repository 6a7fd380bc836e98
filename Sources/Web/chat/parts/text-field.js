import { element } from "./dom.js";

/** The most bytes of UTF-8 that a node accepts as a text. */
const textBytesMax = 16_384;

/**
 * A field for a text of several lines, which is as high as its text; the style sheet limits it.
 *
 * It takes any text, since a browser would cut one that is pasted; `excess` tells of what is too
 * much.
 */
export class TextField {
    /**
     * @param {string} name for screen readers, and in the empty field
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

    /** The bytes that are too many for a node; 0 for none. */
    get excess() {
        return Math.max(0, new TextEncoder().encode(this.value).length - textBytesMax);
    }

    get isBlank() {
        return this.value.trim() === "";
    }

    /** Makes the field as high as its text, in browsers whose style sheets cannot. */
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
        // On a phone the return key begins a line, and a button sends.
        const isPhone = matchMedia("(pointer: coarse)").matches;
        if (event.key !== "Enter" || event.shiftKey || event.isComposing || isPhone) return;
        event.preventDefault();
        this.onEnter();
    }
}
