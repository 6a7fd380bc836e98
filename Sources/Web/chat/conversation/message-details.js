import { titledDialog } from "../dialogs/dialog.js";
import { element } from "../parts/dom.js";
import { formatMoment } from "../parts/formats.js";
import { icon } from "../parts/icons.js";
import { texts } from "../texts.js";

/**
 * @typedef {import("../../client/types.js").Message} Message
 * @typedef {import("../../client/types.js").Mark} Mark
 */

const words = texts.message;

/**
 * The list that shows when one of the user's own messages was sent, and whether each other
 * participant has received or read it, with the time of that participant's last mark.
 */
export class MessageDetails {
    element = element("ul", { class: "details" });

    /** Returns the dialog that shows each participant's delivery state of the message. */
    dialog() {
        return titledDialog(words.detailsTitle, {}, this.element);
    }

    /**
     * @param {Message} message
     * @param {{user: string, name: string}[]} people the other participants
     * @param {Mark[]} marks
     */
    render(message, people, marks) {
        this.element.replaceChildren(...makeRows(message, people, marks));
    }
}

/**
 * @param {Message} message
 * @param {{user: string, name: string}[]} people
 * @param {Mark[]} marks
 */
function makeRows(message, people, marks) {
    const rows = people.map(({ user, name }) => {
        const mark = marks.find((each) => each.user === user);
        if (message.readBy.includes(user)) {
            return detail(name, { icon: "delivered", what: words.readAt, at: mark?.readAt });
        }
        return message.deliveredTo.includes(user)
            ? detail(name, { icon: "delivered", what: words.deliveredAt, at: mark?.deliveredAt })
            : detail(name, { icon: "clock", what: words.notYet });
    });
    const sent = message.state === "waiting"
        ? detail(words.you, { icon: "clock", what: words.states[message.state] })
        : detail(words.you, { icon: "sent", what: words.sentAt, at: message.at });
    return [sent, ...rows];
}

/**
 * @param {string} name
 * @param {{icon: string, what: string, at?: string}} state
 */
function detail(name, { icon: iconName, what, at }) {
    return element(
        "li",
        { class: "detail" },
        element("span", { class: "detail-name", dir: "auto" }, name),
        element(
            "span",
            { class: `detail-state ${what === words.readAt ? "is-read" : ""}`.trim() },
            icon(iconName),
            [what, at ? formatMoment(at) : ""].filter(Boolean).join(" "),
        ),
    );
}
