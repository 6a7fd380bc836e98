import { textButton } from "../parts/button.js";
import { element } from "../parts/dom.js";
import { icon } from "../parts/icons.js";
import { texts } from "../texts.js";

/**
 * Returns the prompt above the chat list that offers to turn on notifications.
 *
 * @param {{accept: () => void, decline: () => void}} actions
 */
export function notificationOffer({ accept, decline }) {
    const words = texts.notifications;
    return element(
        "section",
        { class: "offer", "aria-label": words.accept },
        icon("bell"),
        element("p", {}, words.offer),
        element(
            "div",
            { class: "offer-buttons" },
            textButton(words.accept, accept, "primary"),
            textButton(words.decline, decline, "quiet"),
        ),
    );
}
