import { element, setChildren } from "./dom.js";
import { pictureURL } from "../dialogs/profile-picture.js";

const colours = 8;
const initialsMax = 2;

/** A round picture of a user, or the user's initials on a colour derived from the user's id. */
export class Avatar {
    #shown = "";

    /** @param {"small" | "medium" | "large"} [size] */
    constructor(size = "medium") {
        this.element = element("span", { class: `avatar ${size}`, "aria-hidden": "true" });
    }

    /** @param {{key: string, name: string, photo?: string}} view */
    render({ key, name, photo }) {
        const shown = `${key} ${name} ${photo ?? ""}`;
        if (shown === this.#shown) return;
        this.#shown = shown;
        this.element.dataset.colour = String(hash(key) % colours);
        const url = photo ? pictureURL(photo) : undefined;
        if (url) setChildren(this.element, element("img", { src: url, alt: "" }));
        else this.element.replaceChildren(initials(name));
    }
}

/** @param {string} name */
function initials(name) {
    const words = name.trim().split(/[\s@._-]+/u).filter((word) => /[\p{L}\p{N}]/u.test(word));
    const letters = words.slice(0, initialsMax).map((word) => [...word][0] ?? "");
    // A zero-width non-joiner separates the initials, so that Arabic letters do not join.
    return letters.join("\u200C").toLocaleUpperCase() || "?";
}

/** @param {string} text */
function hash(text) {
    let value = 0;
    for (const letter of text) value = (value * 31 + (letter.codePointAt(0) ?? 0)) >>> 0;
    return value;
}
