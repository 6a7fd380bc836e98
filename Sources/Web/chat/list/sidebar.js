import { ActionItems } from "./action-items.js";
import { iconButton, textButton } from "../parts/button.js";
import { ChatList } from "./chat-list.js";
import { element, setChildren, setShown } from "../parts/dom.js";
import { emptyState } from "../parts/empty-state.js";
import { icon } from "../parts/icons.js";
import { notificationOffer } from "./notification-offer.js";
import { archivedAddress, chatsAddress } from "../route.js";
import { SearchResults } from "./search-results.js";
import { texts } from "../texts.js";

/**
 * @typedef {import("../../client/types.js").Item} Item
 * @typedef {import("./chat-row.js").ChatActions} ChatActions
 * @typedef {import("./chat-row.js").ChatRowView} ChatRowView
 * @typedef {import("./item-row.js").ItemActions} ItemActions
 * @typedef {import("./search-results.js").MessageResult} MessageResult
 */

/**
 * @typedef {{
 *   isArchive: boolean,
 *   chats: ChatRowView[],
 *   items: Item[],
 *   isLoading: boolean,
 *   isOffering: boolean,
 *   found?: {words: string, chats: ChatRowView[], messages: MessageResult[]},
 * }} SidebarView
 */

/**
 * @typedef {{
 *   chats: ChatActions,
 *   items: ItemActions & {add: () => void},
 *   notifications: {accept: () => void, decline: () => void},
 *   newChat: () => void,
 *   addSampleData: () => void,
 *   openSettings: () => void,
 *   search: (words: string) => void,
 * }} SidebarActions
 */

const words = texts.chats;

/** The sidebar, with the user's chats and action items, or with the archived chats. */
export class Sidebar {
    #search = element("input", {
        type: "search",
        class: "search-field",
        placeholder: words.search,
        "aria-label": words.search,
        oninput: () => this.actions.search(this.#search.value),
    });
    #header;
    #archiveHeader = element(
        "header",
        { class: "side-header" },
        iconButton("back", texts.back, () => location.hash = chatsAddress),
        element("h2", { class: "side-title", tabindex: -1 }, texts.archivedView.title),
    );
    #searchBox = element("div", { class: "search" }, icon("search"), this.#search);
    #content = element("div", { class: "side-content" });

    /** @param {SidebarActions} actions */
    constructor(actions) {
        this.actions = actions;
        this.#header = element(
            "header",
            { class: "side-header" },
            element("h2", { class: "side-title", tabindex: -1 }, words.title),
            iconButton("archive", words.archived, () => location.hash = archivedAddress),
            iconButton("settings", words.settings, actions.openSettings),
            iconButton("plus", words.newChat, actions.newChat, "accent"),
        );
        this.offer = notificationOffer(actions.notifications);
        this.chats = new ChatList({ label: words.title, empty: noChats(actions) }, actions.chats);
        this.archived = new ChatList(
            {
                label: texts.archivedView.title,
                isArchive: true,
                empty: emptyState(
                    "archive",
                    texts.archivedView.emptyTitle,
                    texts.archivedView.emptyText,
                ),
            },
            actions.chats,
        );
        this.results = new SearchResults(actions.chats);
        this.items = new ActionItems(actions.items);
        this.element = element("section", { class: "sidebar", "aria-label": words.title });
    }

    /** @param {SidebarView} view */
    render({ isArchive, chats, items, isLoading, isOffering, found }) {
        const hadFocus = this.element.contains(document.activeElement);
        setChildren(
            this.element,
            ...(isArchive
                ? [this.#archiveHeader, this.#content]
                : [this.#header, this.#searchBox, this.offer, this.#content, this.items.element]),
        );
        setShown(this.offer, isOffering);
        setShown(this.items.element, !found);
        const list = isArchive ? this.archived : this.chats;
        list.render({ rows: chats, isLoading });
        const isSearch = found !== undefined && !isArchive;
        if (isSearch) this.results.render(found);
        setChildren(this.#content, isSearch ? this.results.element : list.element);
        this.items.render({ items });
        // The focused button was removed with its header, so the new header's title gets the focus.
        if (hadFocus && !this.element.contains(document.activeElement)) {
            const title = this.element.querySelector(".side-title");
            if (title instanceof HTMLElement) title.focus();
        }
    }

    clearSearch() {
        this.#search.value = "";
    }
}

/** @param {SidebarActions} actions */
function noChats(actions) {
    return emptyState(
        "bubble",
        words.emptyTitle,
        words.emptyText,
        textButton(words.newChat, actions.newChat, "primary"),
        element("p", { class: "empty-text" }, words.sampleText),
        textButton(words.sampleData, actions.addSampleData),
    );
}
