import { attempt } from "./dialogs/alert.js";
import { Banner } from "./parts/banner.js";
import { makeChatActions } from "./list/chat-actions.js";
import { columns } from "./parts/columns.js";
import { element } from "./parts/dom.js";
import { makeItemActions } from "./list/item-actions.js";
import { Pane } from "./parts/pane.js";
import { parseRoute } from "./route.js";
import { SideDialogs } from "./dialogs/side-dialogs.js";
import { Sidebar } from "./list/sidebar.js";

/**
 * @typedef {import("../client/types.js").Chat} Chat
 * @typedef {import("./list/chat-row.js").ChatRowView} ChatRowView
 */

/**
 * @typedef {{
 *   client: import("../client/client.js").Client,
 *   people: import("./list/people.js").People,
 *   notifications: import("./list/notifications.js").Notifications,
 *   toast: import("./parts/toast.js").Toast,
 *   announcer: import("./parts/announcer.js").Announcer,
 * }} MainContext
 */

/**
 * The page of a signed-in user: the sidebar, and the pane with a conversation or pinned messages.
 */
export class MainPage {
    #words = "";
    #banner = new Banner();
    #body;

    /** @param {MainContext} context */
    constructor(context) {
        this.context = context;
        this.client = context.client;
        const chatActions = makeChatActions(context, () => this.pane.conversation.id);
        const onSent = () => {
            context.notifications.noteSent();
            this.render();
        };
        /** @param {string | undefined} id */
        const onView = (id) => context.notifications.setViewed(id);
        this.pane = new Pane({ ...context, chatActions, onSent, onView }, () => this.render());
        this.dialogs = new SideDialogs(context, () => this.render());
        this.sidebar = this.#makeSidebar(chatActions);
        this.#body = columns(this.sidebar.element, this.pane.element);
        this.element = element("div", { class: "main-page" }, this.#banner.element, this.#body);
    }

    /** @param {import("./list/chat-row.js").ChatActions} chatActions */
    #makeSidebar(chatActions) {
        const { client, dialogs, context: { notifications } } = this;
        return new Sidebar({
            chats: chatActions,
            items: makeItemActions(client),
            notifications: {
                accept: () => dialogs.answer(() => notifications.accept()),
                decline: () => dialogs.answer(() => notifications.decline()),
            },
            newChat: () => dialogs.openNewChat(),
            addSampleData: () => attempt(dialogs.addSampleData()),
            openSettings: () => dialogs.openSettings(),
            search: (words) => {
                this.#words = words.trim();
                this.render();
            },
        });
    }

    /** Shows the view that the URL fragment names. */
    onRoute() {
        const before = this.pane.conversation.id;
        const route = parseRoute(location.hash);
        this.pane.open(route);
        this.render();
        if (route.view === "pins") this.pane.focus();
        else this.#moveFocus(before);
    }

    /**
     * Moves the focus after a navigation: into the composer of the opened conversation (on touch
     * devices to its title, so that no keyboard pops up), or back to the closed conversation's row
     * in the list.
     *
     * @param {string | undefined} before the id of the conversation that was open
     */
    #moveFocus(before) {
        const { conversation } = this.pane;
        const id = conversation?.id;
        if (id === before) return;
        if (id === undefined) {
            const row = before && this.sidebar.chats.rows.get(before);
            if (row) row.element.querySelector("a")?.focus();
        } else if (matchMedia("(pointer: fine)").matches) conversation.view.composer.focus();
        else this.pane.focus();
    }

    render() {
        const route = parseRoute(location.hash);
        const { client } = this;
        this.#banner.render({ connection: client.connection });
        this.#renderSidebar(route.view === "archived");
        const hasPane = route.view === "chat" || route.view === "pins";
        this.#body.classList.toggle("shows-pane", hasPane);
        this.pane.render(route);
        const unread = client.chats({ archived: false }).reduce(
            (sum, { unread }) => sum + unread,
            0,
        );
        this.context.notifications.showUnread(unread);
    }

    /** @param {boolean} isArchive */
    #renderSidebar(isArchive) {
        const { client, context } = this;
        const chats = client.chats({ archived: isArchive });
        this.sidebar.render({
            isArchive,
            chats: chats.map((chat) => this.#row(chat)),
            items: client.items(),
            isLoading: client.connection === "connecting",
            isOffering: context.notifications.isOffered,
            found: this.#words === "" ? undefined : this.#found(),
        });
    }

    #found() {
        const { chats, messages } = this.client.search(this.#words);
        const { people } = this.context;
        return {
            words: this.#words,
            chats: chats.map((chat) => this.#row(chat)),
            messages: messages.map((message) => {
                const { chat } = this.client.conversation(message.conversation);
                const title = chat ? people.title(chat) : "";
                return { message, sender: people.sender(message), title };
            }),
        };
    }

    /**
     * @param {Chat} chat
     * @returns {ChatRowView}
     */
    #row(chat) {
        const { people } = this.context;
        return {
            chat,
            title: people.title(chat),
            preview: people.preview(chat),
            face: people.face(chat),
            isTyping: this.client.conversation(chat.id).typing.length > 0,
            isSelected: chat.id === this.pane.conversation.id,
        };
    }

    /** Closes the conversation on screen when the user signs out. */
    dispose() {
        this.pane.dispose();
    }
}
