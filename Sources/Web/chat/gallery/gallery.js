/**
 * The component gallery, a page that shows each component in each state without a server.
 *
 * `/gallery` lists the states; `/gallery?state=<name>` renders one state.
 */

import { element } from "../parts/dom.js";
import { conversationStates } from "./gallery-conversation.js";
import { dialogStates } from "./gallery-dialogs.js";
import { pageStates } from "./gallery-pages.js";

/** @type {Record<string, () => HTMLElement | void>} */
const states = { ...pageStates, ...conversationStates, ...dialogStates };

const name = new URLSearchParams(location.search).get("state");
const show = name ? states[name] : undefined;
if (show) {
    const content = show();
    if (content) document.body.prepend(content);
} else {
    const links = Object.keys(states).map((state) =>
        element("li", {}, element("a", { href: `?state=${state}` }, state))
    );
    document.body.append(
        element(
            "main",
            { class: "gallery" },
            element("h1", {}, "Components"),
            element("ul", {}, ...links),
        ),
    );
}
document.body.dataset.isReady = "true";
