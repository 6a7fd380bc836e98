/**
 * The gallery's sample data: people, chats, messages and action items.
 *
 * @typedef {import("../../client/types.js").Message} Message
 * @typedef {import("../../client/types.js").Chat} Chat
 * @typedef {import("../../client/types.js").Item} Item
 */

export const me = "u-you";

/** @type {Record<string, {name: string}>} */
const people = {
    "u-you": { name: "Robin Vale" },
    "u-alice": { name: "Alice Amsel" },
    "u-bob": { name: "Bob Beam" },
    "u-carol": { name: "Carol Ortiz" },
    "u-long": { name: "Wolfeschlegelsteinhausenbergerdorff the Third of Some Long Name" },
    "u-noor": { name: "نور الحسن" },
};

/** @param {string} user */
export function person(user) {
    return people[user] ?? { name: user };
}

const minute = 60_000;
const day = 24 * 60 * minute;

/**
 * Returns the time that is `milliseconds` before now. Times relative to now give the gallery recent
 * days, and messages young enough (15 minutes) to offer "Edit".
 *
 * @param {number} milliseconds
 */
function ago(milliseconds) {
    return new Date(Date.now() - milliseconds).toISOString();
}

let count = 0;

/**
 * @param {string} from
 * @param {string} text
 * @param {Partial<Message>} [rest]
 * @returns {Message}
 */
export function message(from, text, rest = {}) {
    count += 1;
    const isMine = from === me;
    return {
        id: `m${count}`,
        conversation: "lunch",
        from,
        at: ago(10 * minute),
        type: "text",
        text,
        deliveredTo: [],
        readBy: [],
        state: "sent",
        isMine,
        ...rest,
    };
}

/** Returns a conversation with messages of every type and in various states. */
export function mixedMessages() {
    const yesterday = { at: ago(day + 30 * minute) };
    return [
        message("u-alice", "Alice named the conversation “Lunch on Friday”", {
            ...yesterday,
            type: "system",
        }),
        message("u-alice", "Noodles on Friday?", yesterday),
        message(
            "u-alice",
            "There is a new place by the harbour: https://noodles.example.org/menu",
            {
                ...yesterday,
                pinnedAt: ago(day),
                pinnedBy: "u-bob",
            },
        ),
        message(me, "Yes, gladly.", { ...yesterday, state: "read", readBy: ["u-alice", "u-bob"] }),
        message("u-bob", "The view from there", {
            at: ago(50 * minute),
            type: "image",
            blob: "harbour",
        }),
        message("u-bob", "0:07", { at: ago(48 * minute), type: "voice", blob: "note" }),
        message(me, "0:12", {
            at: ago(47 * minute),
            type: "voice",
            blob: "answer",
            state: "delivered",
            deliveredTo: ["u-bob"],
        }),
        message("u-alice", "Book a table for four", {
            at: ago(40 * minute),
            type: "action",
            item: "i1",
        }),
        message("u-alice", "[Message deleted]", {
            at: ago(39 * minute),
            deletedForEveryone: true,
        }),
        message(me, "I booked the big table at the window, so that all of us have a place.", {
            at: ago(12 * minute),
            state: "read",
            readBy: ["u-alice", "u-bob"],
            edited: ago(11 * minute),
        }),
        message(me, "🎉", { at: ago(11 * minute), state: "delivered", deliveredTo: ["u-bob"] }),
        message("u-bob", "Great! I come to lunch by bicycle, so perhaps a little later than you.", {
            at: ago(4 * minute),
        }),
        message(me, "No hurry.", {
            at: ago(2 * minute),
            state: "delivered",
            deliveredTo: ["u-alice", "u-bob"],
        }),
    ];
}

/** Returns a message of Alice, and four of the gallery's user, one in each delivery state. */
export function sentMessages() {
    return [
        message("u-alice", "Where are you?"),
        message(me, "Read by both.", { state: "read", readBy: ["u-alice", "u-bob"] }),
        message(me, "Delivered.", { state: "delivered", deliveredTo: ["u-alice"] }),
        message(me, "Sent.", { state: "sent" }),
        message(me, "Waiting for a connection.", { state: "waiting" }),
    ];
}

/** Returns messages of unusual lengths and contents. */
export function extremeMessages() {
    const lines = "First line\n\n    a line that begins with spaces\n- and the last one";
    return [
        message("u-long", "Rindfleischetikettierungsüberwachungsaufgabenübertragungsgesetz!"),
        message(me, lines, { state: "read", edited: ago(minute) }),
        message("u-bob", "", { type: "image", blob: "harbour" }),
        message("u-bob", "", { type: "image", blob: "lost" }),
        message("u-noor", "العنوان: 12 Harbour Street"),
        message(me, `https://example.org/${"a-very-long-path/".repeat(6)}`, { state: "delivered" }),
        message(me, "An action item that I cannot tick, with a title of more than one line", {
            type: "action",
            state: "sent",
        }),
        message("u-alice", "ok"),
    ];
}

/** Returns a right-to-left conversation that contains left-to-right words. */
export function rightToLeftMessages() {
    return [
        message("u-noor", "مرحبا! هل نلتقي يوم الجمعة؟"),
        message("u-noor", "العنوان: 12 Harbour Street", { edited: ago(minute) }),
        message(me, "نعم، بكل سرور. في الساعة 12:30؟", {
            state: "read",
            readBy: ["u-noor"],
        }),
    ];
}

/**
 * Returns `total` messages of different lengths.
 *
 * @param {number} total
 */
export function manyMessages(total) {
    const sentence = "The harbour was quiet, and the gulls waited for the boats to come in. ";
    return Array.from({ length: total }, (_, index) => {
        const from = ["u-alice", me, "u-bob"][Math.floor(index / 3) % 3];
        return message(from, `${index + 1}. ${sentence.repeat(index * 7 % 4)}`, {
            id: `many-${index + 1}`,
            at: ago((total - index) * 7 * minute),
            state: from === me ? "read" : "sent",
        });
    });
}

/** @returns {Chat[]} */
export function sampleChats() {
    /** @type {(id: string, title: string, lastText: string, rest?: Partial<Chat>) => Chat} */
    const chat = (id, title, lastText, rest = {}) => ({
        id,
        title,
        participants: [me, "u-alice"],
        createdAt: ago(20 * day),
        last: "m1",
        lastFrom: "u-alice",
        lastAt: ago(4 * minute),
        lastText,
        unread: 0,
        isArchived: false,
        isWaiting: false,
        ...rest,
    });
    return [
        chat("lunch", "Lunch on Friday", "No hurry.", { lastFrom: me }),
        chat("trip", "Weekend trip", "Can you bring the map? I could not find mine.", {
            lastAt: ago(3 * 60 * minute),
            unread: 3,
        }),
        chat("choir", "Choir", "Voice message", { lastAt: ago(day), unread: 128 }),
        chat("noor", "نور الحسن", "مرحبا! هل نلتقي يوم الجمعة؟", { lastAt: ago(3 * day) }),
        chat("garden", "Garden", "Photo", { lastAt: ago(40 * day), lastFrom: "u-bob" }),
        chat("new", "Book club with a name that is much too long for its row", "No messages yet", {
            last: undefined,
            lastAt: undefined,
        }),
    ];
}

/** @returns {Item[]} */
export function sampleItems() {
    return [
        {
            id: "i1",
            title: "Book a table for four",
            due: ago(-2 * 60 * minute),
            priority: "high",
            chat: "lunch",
            message: "m8",
            isDone: false,
            isWaiting: false,
        },
        {
            id: "i2",
            title: "Bring the map",
            due: ago(2 * day),
            priority: "medium",
            chat: "trip",
            isDone: false,
            isWaiting: false,
        },
        { id: "i3", title: "Water the plants", isDone: true, isWaiting: false },
    ];
}

/**
 * Returns a picture drawn on a canvas, so that the gallery needs no image file.
 *
 * @returns {Promise<Blob>}
 */
export function samplePhoto() {
    const canvas = new OffscreenCanvas(640, 480);
    const context = canvas.getContext("2d");
    if (context) {
        const sky = context.createLinearGradient(0, 0, 0, 480);
        sky.addColorStop(0, "#5f7fd4");
        sky.addColorStop(0.6, "#f4b183");
        sky.addColorStop(0.61, "#2f5d73");
        sky.addColorStop(1, "#12303f");
        context.fillStyle = sky;
        context.fillRect(0, 0, 640, 480);
        context.fillStyle = "#fff3d6";
        context.beginPath();
        context.arc(440, 240, 44, 0, Math.PI * 2);
        context.fill();
        context.fillStyle = "#1d2530";
        context.fillRect(80, 250, 120, 40);
        context.fillRect(132, 130, 6, 120);
    }
    return canvas.convertToBlob({ type: "image/webp", quality: 0.8 });
}
