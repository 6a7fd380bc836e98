/** The sample states of a conversation that the component gallery shows. */

import { columns } from "../parts/columns.js";
import { Conversation } from "../conversation/conversation.js";
import { element } from "../parts/dom.js";
import {
    extremeMessages,
    manyMessages,
    me,
    mixedMessages,
    person,
    rightToLeftMessages,
    sampleItems,
    samplePhoto,
    sentMessages,
} from "./gallery-samples.js";
import { texts } from "../texts.js";
import { VoiceRecorder } from "../conversation/voice-recorder.js";

/** @typedef {import("../conversation/conversation.js").ConversationView} ConversationView */

const nothing = () => {};
const longCount = 10_000;

/** @param {Partial<ConversationView>} view */
export function conversation(view) {
    const made = new Conversation({
        back: nothing,
        openPins: nothing,
        openChatOptions: nothing,
        loadEarlier: () => Promise.resolve(),
        send: nothing,
        sendFile: nothing,
        sendVoice: nothing,
        setTyping: nothing,
        saveEdit: nothing,
        cancelEdit: nothing,
        openOptions: nothing,
        openHistory: nothing,
        openDetails: nothing,
        deleteForMe: nothing,
        openPhoto: nothing,
        toggleItem: nothing,
        file: (_, blob) => blob === "lost" ? Promise.reject(new Error("lost")) : samplePhoto(),
    });
    const items = new Map(sampleItems().map((item) => [item.id, item]));
    made.render({
        id: "lunch",
        title: "Lunch on Friday",
        me,
        others: ["u-alice", "u-bob"],
        messages: [],
        marks: [{
            user: "u-alice",
            readAt: new Date().toISOString(),
            deliveredAt: new Date().toISOString(),
        }],
        changes: [],
        items,
        person,
        typing: [],
        isLoaded: true,
        hasEarlier: false,
        ...view,
    });
    return made.element;
}

/** @param {Partial<ConversationView>} view */
function alone(view) {
    const pane = element("div", { class: "pane" }, conversation(view));
    const body = columns(element("div", { class: "sidebar" }), pane);
    body.classList.add("single", "shows-pane");
    return element("div", { class: "main-page" }, body);
}

/** Starts a simulated recording in the composer, without a microphone. @param {HTMLElement} page */
function recording(page) {
    const recorder = { seconds: 7, isFull: false, cancel: nothing };
    const made = /** @type {VoiceRecorder} */ (/** @type {unknown} */ (recorder));
    VoiceRecorder.start = () => Promise.resolve(made);
    const button = page.querySelector(`[aria-label="${texts.composer.record}"]`);
    if (button instanceof HTMLElement) button.click();
    return page;
}

/** @type {Record<string, () => HTMLElement>} */
export const conversationStates = {
    "conversation": () => alone({ messages: mixedMessages() }),
    "conversation-new": () => {
        const messages = mixedMessages();
        return alone({ messages, firstNew: messages.at(-2)?.id });
    },
    "conversation-states": () => alone({ messages: sentMessages() }),
    "conversation-typing": () => alone({ messages: mixedMessages(), typing: ["Alice Amsel"] }),
    "conversation-typing-many": () =>
        alone({ messages: sentMessages(), typing: ["Alice Amsel", "Bob Beam"] }),
    "conversation-edit": () => {
        const messages = sentMessages();
        const edit = { message: messages[1].id, text: "Read by both.", isSaving: false };
        return alone({ messages, edit });
    },
    "conversation-edit-empty": () => {
        const messages = sentMessages();
        return alone({ messages, edit: { message: messages[1].id, text: "  ", isSaving: false } });
    },
    "conversation-edit-long": () => {
        const messages = extremeMessages();
        const [, lines] = messages;
        return alone({ messages, edit: { message: lines.id, text: lines.text, isSaving: false } });
    },
    "conversation-extremes": () =>
        alone({
            title:
                "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft",
            others: ["u-long", "u-alice", "u-bob", "u-carol"],
            messages: extremeMessages(),
        }),
    "conversation-recording": () => recording(alone({ messages: sentMessages() })),
    "conversation-empty": () => alone({}),
    "conversation-loading": () => alone({ isLoaded: false }),
    "conversation-load-fails": () => {
        const page = alone({});
        const retry = page.querySelector(".load-retry");
        if (retry instanceof HTMLElement) retry.hidden = false;
        return page;
    },
    "conversation-file": () => {
        const [first] = sentMessages();
        const messages = [{ ...first, type: /** @type {const} */ ("text"), blob: "b1" }]
            .map((each) => ({ ...each, text: "What was agreed, with all names.pdf" }));
        return alone({ messages });
    },
    "conversation-long": () => alone({ messages: manyMessages(longCount) }),
    "conversation-tenth": () => alone({ messages: manyMessages(longCount / 10) }),
    "conversation-right-to-left": () => {
        document.documentElement.dir = "rtl";
        document.documentElement.lang = "ar";
        return alone({
            title: "نور الحسن",
            others: ["u-noor"],
            messages: rightToLeftMessages(),
            typing: ["نور الحسن"],
        });
    },
};
