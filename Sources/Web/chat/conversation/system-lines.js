import { texts } from "../texts.js";

/**
 * @typedef {import("../../client/types.js").Message} Message
 * @typedef {import("../../client/types.js").MemberChange} MemberChange
 */

/**
 * The messages, and between them a line for each change of who takes part in the conversation.
 * While earlier messages are not loaded, changes before the first loaded message are left out.
 *
 * @param {{
 *   id: string,
 *   messages: Message[],
 *   changes: MemberChange[],
 *   hasEarlier: boolean,
 *   person: (user: string) => {name: string},
 * }} view `changes` in the order of their times
 * @returns {Message[]}
 */
export function withSystemLines({ id, messages, changes, hasEarlier, person }) {
    const first = hasEarlier ? messages.at(0)?.at ?? "" : "";
    const left = changes.filter(({ at }) => at >= first);
    if (left.length === 0) return messages;
    const lines = [];
    let index = 0;
    const addUntil = (/** @type {string | undefined} */ end) => {
        for (; index < left.length && (end === undefined || left[index].at < end); index += 1) {
            lines.push(line(left[index], id, person));
        }
    };
    for (const message of messages) {
        addUntil(message.at);
        lines.push(message);
    }
    addUntil(undefined);
    return lines;
}

/** Whether the message is a line that no node has. @param {Message} message */
export function isSystemLine(message) {
    return message.id.includes(" ");
}

/**
 * @param {MemberChange} change
 * @param {string} conversation
 * @param {(user: string) => {name: string}} person
 * @returns {Message}
 */
function line({ kind, user, by, at }, conversation, person) {
    const [name, host] = [person(user).name, person(by).name];
    const words = texts.conversation;
    return {
        // No message has an id with spaces.
        id: `${kind} ${user} ${at}`,
        conversation,
        from: by,
        at,
        type: "system",
        text: kind === "joined" ? words.joined(host, name) : words.left(name),
        deletedBy: [],
        deliveredTo: [],
        readBy: [],
        state: "sent",
        isMine: false,
    };
}
