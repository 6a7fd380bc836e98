import { element, setShown, setText } from "./dom.js";
import { icon } from "./icons.js";
import { texts } from "../texts.js";

/** A connection that is made within this time is not worth a word. */
const quietMilliseconds = 1500;

/** The line above everything that says that there is no connection. */
export class Banner {
    #text = element("span");
    #line = element("div", { class: "banner", hidden: true }, icon("offline"), this.#text);
    element = element("div", { role: "status" }, this.#line);
    #timer = 0;

    /** @param {{connection: import("../../client/types.js").Connection}} view */
    render({ connection }) {
        clearTimeout(this.#timer);
        if (connection === "offline") return this.#show(texts.connection.offline);
        if (connection !== "connecting") return setShown(this.#line, false);
        this.#timer = setTimeout(
            () => this.#show(texts.connection.connecting),
            quietMilliseconds,
        );
    }

    /** @param {string} text */
    #show(text) {
        setText(this.#text, text);
        setShown(this.#line, true);
    }
}
