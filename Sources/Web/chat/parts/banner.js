import { element, setShown, setText } from "./dom.js";
import { icon } from "./icons.js";
import { texts } from "../texts.js";

/** Milliseconds after which the banner reports that the client is still connecting to a node. */
const quietMilliseconds = 1500;

/** The banner at the top of the page that reports a missing connection to the cluster. */
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
