/** The sample states of the whole chat page that the component gallery shows. */

import { Banner } from "../parts/banner.js";
import { columns } from "../parts/columns.js";
import { element } from "../parts/dom.js";
import { emptyState } from "../parts/empty-state.js";
import { conversation } from "./gallery-conversation.js";
import { mixedMessages, person, sampleChats, sampleItems } from "./gallery-samples.js";
import { PinnedView } from "../conversation/pinned-view.js";
import { firstProfilePage, ProfileForm } from "../dialogs/profile-form.js";
import { Sidebar } from "../list/sidebar.js";
import { SignIn } from "../dialogs/sign-in.js";
import { texts } from "../texts.js";
import { Toast } from "../parts/toast.js";

/**
 * @typedef {import("../list/sidebar.js").SidebarView} SidebarView
 * @typedef {import("../../client/types.js").Chat} Chat
 */

const nothing = () => {};

const chatActions = {
    archive: nothing,
    unarchive: nothing,
    hide: nothing,
    openOptions: nothing,
};

/**
 * @param {Chat[]} chats
 * @param {string} [selected]
 */
function rows(chats, selected) {
    return chats.map((chat) => ({
        chat,
        title: chat.title,
        face: { key: chat.id },
        preview: chat.lastFrom === "u-you" ? texts.chats.you(chat.lastText) : chat.lastText,
        isTyping: chat.id === "trip",
        isSelected: chat.id === selected,
    }));
}

/** @param {Partial<SidebarView>} view */
function sidebar(view) {
    const made = new Sidebar({
        chats: chatActions,
        items: {
            add: nothing,
            toggle: nothing,
            edit: nothing,
            delete: nothing,
            openOptions: nothing,
        },
        notifications: { accept: nothing, decline: nothing },
        newChat: nothing,
        addSampleData: nothing,
        openSettings: nothing,
        search: nothing,
    });
    made.render({
        isArchive: false,
        chats: rows(sampleChats(), "lunch"),
        items: sampleItems(),
        isLoading: false,
        isOffering: false,
        ...view,
    });
    return made.element;
}

/**
 * Returns a page with the sidebar and a pane beside it.
 *
 * @param {Partial<SidebarView>} view
 * @param {{pane?: HTMLElement, isOffline?: boolean}} [options]
 */
function page(view, { pane, isOffline = false } = {}) {
    const content = pane ?? emptyState("grapes", texts.app, texts.conversation.choose);
    const banner = new Banner();
    banner.render({ connection: isOffline ? "offline" : "online" });
    const body = columns(sidebar(view), element("div", { class: "pane" }, content));
    body.classList.toggle("shows-pane", pane !== undefined);
    return element("div", { class: "main-page" }, banner.element, body);
}

/**
 * Returns a page with search results.
 *
 * @param {string} words
 * @param {ReturnType<typeof rows>} [chats]
 * @param {import("../list/search-results.js").MessageResult[]} [messages]
 */
function found(words, chats = [], messages = []) {
    const made = page({ found: { words, chats, messages } });
    const field = made.querySelector("input");
    if (field) field.value = words;
    return made;
}

/** @param {{isLoading: boolean, pins?: import("../conversation/pinned-view.js").PinView[]}} view */
function pinned({ isLoading, pins = [] }) {
    const view = new PinnedView({ back: nothing, unpin: nothing }, nothing);
    view.render({ pins, isLoading });
    return page({}, { pane: view.element });
}

/** @param {Parameters<SignIn["render"]>[0]} view */
function signIn(view) {
    const made = new SignIn({ signIn: async () => {}, signUp: async () => {} });
    made.render(view);
    return made.element;
}

/**
 * Uncovers the swipe actions of a row with simulated touch events.
 * @param {HTMLElement} root
 * @param {number} by
 */
function swiped(root, by) {
    const content = root.querySelector(".swipe-content");
    const at = (/** @type {string} */ type, /** @type {number} */ x) =>
        content?.dispatchEvent(
            new PointerEvent(type, { pointerType: "touch", clientX: x, clientY: 0 }),
        );
    if (content) content.setPointerCapture = nothing;
    at("pointerdown", 200);
    at("pointermove", 200 + by);
    at("pointerup", 200 + by);
    return root;
}

const archived = () =>
    rows(sampleChats().slice(2, 5).map((chat) => ({ ...chat, isArchived: true })));

/** @type {Record<string, () => HTMLElement>} */
export const pageStates = {
    "sign-in": () => signIn({ isNew: false }),
    "sign-up": () => signIn({ isNew: true }),
    "sign-in-refused": () => signIn({ isNew: false, failure: "Wrong e-mail address or password" }),
    "sign-in-working": () => signIn({ isNew: false, isWorking: true }),
    "first-run": () => {
        const form = new ProfileForm(texts.profile.continue, nothing);
        form.render({ user: "u-you", name: "Robin Vale" });
        return firstProfilePage(form, nothing);
    },
    "main": () => page({}),
    "main-chat": () => page({}, { pane: conversation({ messages: mixedMessages() }) }),
    "main-empty": () => page({ chats: [], items: [] }),
    "main-loading": () => page({ chats: [], items: [], isLoading: true }),
    "main-offline": () => page({}, { isOffline: true }),
    "main-offer": () => page({ isOffering: true }),
    "main-swiped": () => swiped(page({}), -160),
    "search": () => {
        const [message] = mixedMessages().slice(-2);
        const results = [{ message, sender: person(message.from).name, title: "Lunch on Friday" }];
        return found("lunch", rows(sampleChats().slice(0, 1)), results);
    },
    "search-empty": () => found("zebra"),
    "archived": () => page({ isArchive: true, chats: archived() }),
    "archived-swiped": () => swiped(page({ isArchive: true, chats: archived() }), 80),
    "archived-empty": () => page({ isArchive: true, chats: [] }),
    "archived-loading": () => page({ isArchive: true, chats: [], isLoading: true }),
    "pinned": () => {
        const pins = mixedMessages().slice(1, 5);
        return pinned({
            isLoading: false,
            pins: pins.map((message) => ({
                message,
                sender: message.isMine ? texts.message.you : person(message.from).name,
            })),
        });
    },
    "pinned-empty": () => pinned({ isLoading: false }),
    "pinned-loading": () => pinned({ isLoading: true }),
    "toast": () => {
        const toast = new Toast();
        document.body.append(toast.element);
        toast.show(texts.options.hidden, { label: texts.undo, action: nothing });
        return page({}, { pane: conversation({ messages: mixedMessages() }) });
    },
};
