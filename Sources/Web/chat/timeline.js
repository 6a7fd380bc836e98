/**
 * The rows of a conversation: its messages with what depends on their neighbours.
 *
 * @typedef {import("../client/types.js").Message} Message
 */

/**
 * A message of a conversation. `day` is set on the first row of each day. A group is a run of
 * messages of one sender: its first row shows the name, its last one the picture.
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

/** A pause that ends a group. */
const groupMilliseconds = 5 * 60 * 1000;

/**
 * Whether a message is shown to a user: not what they deleted, for themselves or for everyone.
 *
 * @param {Message} message
 * @param {string | undefined} user
 */
export function isShownTo(message, user) {
    return user === undefined || !message.deletedBy.includes(user);
}

/**
 * @param {{messages: Message[], me?: string, firstNew?: string}} conversation
 * @returns {TimelineRow[]}
 */
export function makeTimeline({ messages, me, firstNew }) {
    const days = new DayBoundaries();
    /** @type {TimelineRow[]} */
    const rows = [];
    let previousAt = 0;
    for (const message of messages) {
        if (!isShownTo(message, me)) continue;
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

/** The day that was entered last, so that a date is computed once a day and not once a message. */
class DayBoundaries {
    #start = Infinity;
    #end = -Infinity;

    /**
     * Returns whether a time is of another day than the one before it.
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
 * The message before which the line "New" stands: the first of the last `unread` messages of
 * others that count as unread, which those that were deleted do not.
 *
 * @param {Message[]} messages
 * @param {number} unread
 * @returns {string | undefined} undefined where the messages have not so many
 */
export function firstUnread(messages, unread) {
    let left = unread;
    for (let index = messages.length - 1; index >= 0 && left > 0; index -= 1) {
        const { deletedForEveryone, id, isMine } = messages[index];
        if (isMine || deletedForEveryone) continue;
        left -= 1;
        if (left === 0) return id;
    }
    return undefined;
}
