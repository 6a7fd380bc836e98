import { element, setShown, setText } from "../parts/dom.js";
import { formatNames } from "../parts/formats.js";
import { texts } from "../texts.js";

/** The typing indicator below the messages, with the names of the typing users. */
export class TypingIndicator {
    #text = element("span");
    #line = element(
        "div",
        { class: "typing", hidden: true },
        element(
            "span",
            { class: "typing-dots", "aria-hidden": "true" },
            element("span"),
            element("span"),
            element("span"),
        ),
        this.#text,
    );
    element = element("div", { class: "typing-place" }, this.#line);

    /** @param {string[]} names */
    render(names) {
        setShown(this.#line, names.length > 0);
        if (names.length === 0) return;
        const sentence = names.length === 1
            ? texts.conversation.typing
            : texts.conversation.typingMany;
        setText(this.#text, sentence(formatNames(names)));
    }
}
