import { compare } from "../../client/state/message.js";

/**
 * The rows of a conversation: its messages, with day headings and sender groups computed from
 * neighbouring messages.
 *
 * @typedef {import("../../client/types.js").Message} Message
 */

/**
 * A message row of a conversation. `day` is set on the first row of each day. A group is a run of
 * messages of one sender: the first row of a group shows the sender's name, and the last row shows
 * the sender's picture.
 *
 * @typedef {{
 *   key: string,
 *   message: Message,
 *   day?: string,
 *   isFirstNew: boolean,
 *   startsGroup: boolean,
 *   endsGroup: boolean,
 * }} TimelineRow
 */

/**
 * The pause between two messages of one sender, in milliseconds, from which the second message
 * begins a new group.
 */
const groupMilliseconds = 5 * 60 * 1000;

/**
 * @param {{messages: Message[], firstNew?: string}} conversation
 * @returns {TimelineRow[]}
 */
export function makeTimeline({ messages, firstNew }) {
    const days = new DayBoundaries();
    /** @type {TimelineRow[]} */
    const rows = [];
    let previousAt = 0;
    for (const message of messages) {
        const at = Date.parse(message.at);
        const previous = rows.at(-1);
        const isFirstNew = message.id === firstNew;
        const startsDay = days.enters(at);
        const continues = previous !== undefined && !startsDay && !isFirstNew &&
            at - previousAt < groupMilliseconds && isOneSender(previous.message, message);
        if (previous && continues) previous.endsGroup = false;
        rows.push({
            key: message.id,
            message,
            day: startsDay ? message.at : undefined,
            isFirstNew,
            startsGroup: !continues,
            endsGroup: true,
        });
        previousAt = at;
    }
    return rows;
}

/**
 * @param {Message} first
 * @param {Message} second
 */
function isOneSender(first, second) {
    return first.from === second.from && first.type !== "system" && second.type !== "system";
}

/**
 * The bounds of one day, in milliseconds since 1970.
 *
 * A time within the bounds is on that day, so a date is computed only for the first message of each
 * day.
 */
class DayBoundaries {
    #start = Infinity;
    #end = -Infinity;

    /**
     * Returns whether a time is on another day than the time given in the previous call.
     *
     * @param {number} at
     */
    enters(at) {
        if (at >= this.#start && at < this.#end) return false;
        const date = new Date(at);
        this.#start = date.setHours(0, 0, 0, 0);
        this.#end = date.setDate(date.getDate() + 1);
        return true;
    }
}

/**
 * Returns the id of the first unread message, which is shown below the "New" line.
 *
 * Unread are the messages after the read mark, except the user's own messages and messages deleted
 * for everyone.
 *
 * @param {Message[]} messages
 * @param {{id: string, at: string, seq?: string} | undefined} mark the last read message
 * @returns {string | undefined}
 */
export function firstUnread(messages, mark) {
    return messages.find((message) =>
        !message.isMine && !message.deletedForEveryone &&
        (mark === undefined || compare(message, mark) > 0)
    )?.id;
}
