import { showFailure } from "../dialogs/alert.js";
import { openChatOptions } from "../list/chat-actions.js";
import { compare } from "../../client/state/message.js";
import { Conversation } from "./conversation.js";
import { closeDialog } from "../dialogs/dialog.js";
import { Drafts } from "./drafts.js";
import { makeMessageActions } from "./message-actions.js";
import { MessageEdit } from "./message-edit.js";
import { spokenText } from "./message-row.js";
import { preparePhoto } from "./photo.js";
import { chatsAddress, pinsAddress } from "../route.js";
import { texts } from "../texts.js";
import { firstUnread } from "./timeline.js";

/**
 * @typedef {import("../../client/client.js").Client} Client
 * @typedef {import("../../client/types.js").Message} Message
 * @typedef {import("../../client/types.js").Item} Item
 * @typedef {import("../list/people.js").People} People
 * @typedef {import("./conversation.js").ConversationActions} ConversationActions
 */

/**
 * The chat client and the parts of the chat page that the controller of the open conversation uses.
 *
 * @typedef {{
 *   client: Client,
 *   people: People,
 *   toast: import("../parts/toast.js").Toast,
 *   announcer: import("../parts/announcer.js").Announcer,
 *   onSent: () => void,
 *   onView: (conversation: string | undefined) => void,
 *   chatActions: ReturnType<typeof import("../list/chat-actions.js").makeChatActions>,
 * }} ConversationContext
 */

const fileBytesMax = 25 * 1024 * 1024;
/** The most messages that are loaded to find the first unread message of a conversation. */
const searchedMax = 500;

/**
 * The controller of the open conversation: it renders the conversation's view from the client's
 * data, and calls the client's methods for the user's actions.
 */
export class ConversationPage {
    /** @type {string | undefined} */
    #id;
    /** The id of the first unread message, below the "New" line. @type {string | undefined} */
    #firstNew;
    /**
     * The running search for the first unread message: the last read message, and whether to scroll
     * to the result.
     * @type {{mark?: {id: string, at: string}, scrolls: boolean} | undefined}
     */
    #search;
    /** Whether the conversation has been loaded from a node since it was opened. */
    #isFresh = false;
    /** @type {string | undefined} */
    #wanted;
    #lastHeard = "";
    #drafts;

    /** @param {ConversationContext} context */
    constructor(context) {
        this.context = context;
        this.client = context.client;
        this.#drafts = new Drafts(context.client.user ?? "");
        this.edit = new MessageEdit(
            context.client,
            () => this.#id,
            (hasEnded) => {
                this.render();
                if (hasEnded) this.view.composer.focus();
            },
        );
        this.view = new Conversation(this.#actions());
        this.element = this.view.element;
        document.addEventListener("visibilitychange", () => this.#onVisibility());
    }

    get id() {
        return this.#id;
    }

    /**
     * @param {string} id
     * @param {string} [message] the id of a message to scroll to
     */
    open(id, message) {
        this.#wanted = message;
        if (id !== this.#id) {
            this.close();
            this.#id = id;
            this.#lastHeard = "";
            // The last read message is determined before loading marks the conversation as read.
            this.#search = { mark: this.client.readMark(id), scrolls: message === undefined };
            this.#isFresh = false;
            this.view.composer.draft = this.#drafts.of(id);
            this.view.retry.ask(() => this.#load(id));
            this.#tellView();
        }
        this.render();
    }

    close() {
        if (!this.#id) return;
        this.view.composer.leave();
        for (const question of [this.view.retry, this.view.earlier]) question.forget();
        this.#drafts.keep(this.#id, this.view.composer.draft);
        this.client.closeConversation(this.#id);
        this.#id = undefined;
        this.#tellView();
        this.edit.forget();
        this.#firstNew = this.#search = undefined;
    }

    render() {
        const id = this.#id;
        if (!id) return;
        const { client, context: { people } } = this;
        const state = client.conversation(id);
        const scrolls = this.#markFirstNew(state);
        this.view.render({
            ...state,
            id,
            me: client.user,
            title: state.chat ? people.title(state.chat) : "",
            others: state.chat ? people.others(state.chat) : [],
            firstNew: this.#firstNew,
            items: itemsByMessage(client.items()),
            person: (user) => people.person(user),
            typing: state.typing.map((user) => people.person(user).name),
            edit: this.edit.view,
        });
        if (this.#wanted && this.view.list.reveal(this.#wanted)) this.#wanted = undefined;
        if (scrolls && this.#firstNew) this.view.list.scrollTo(this.#firstNew);
        this.#announce(state.messages);
    }

    /** @param {string} id */
    async #load(id) {
        try {
            await this.client.openConversation(id);
            if (id !== this.#id) return;
            this.#isFresh = true;
            this.render();
        } catch (error) {
            const { code } = /** @type {import("../../client/types.js").Failure} */ (error);
            if (code !== 403 && code !== 404) throw error;
            console.warn("grapevine: no such conversation:", error);
            this.#leaveUnknown(id);
        }
    }

    /**
     * Shows an error and returns to the chat list if the conversation does not exist or the user is
     * no participant of it, for example after the user followed a link. A new conversation that
     * nodes do not know yet stays open.
     *
     * @param {string} id
     */
    #leaveUnknown(id) {
        if (id !== this.#id || this.client.conversation(id).chat) return;
        location.replace(chatsAddress);
        showFailure(new Error(texts.conversation.unknown), texts.conversation.unknown);
    }

    /**
     * Handles the event that the browser hides or shows the page. Messages that arrive while the
     * page is hidden stay unread, and are shown below the "New" line.
     */
    #onVisibility() {
        // The last read message is determined before `isVisible` marks messages as read.
        const mark = this.#id ? this.client.readMark(this.#id) : undefined;
        this.client.isVisible = !document.hidden;
        this.#tellView();
        if (!this.#id) return;
        // The draft is stored here, since a page is hidden before it is reloaded or closed.
        this.#drafts.keep(this.#id, this.view.composer.draft);
        this.#firstNew = undefined;
        this.#search = document.hidden ? undefined : { mark, scrolls: false };
        this.render();
    }

    #tellView() {
        this.context.onView(document.hidden ? undefined : this.#id);
    }

    /**
     * Finds the first unread message, loading earlier messages until the last read message is
     * loaded or 500 messages are.
     *
     * @param {import("../../client/types.js").ConversationView} state
     * @returns {boolean} whether to scroll to the message; false if the user has scrolled meanwhile
     */
    #markFirstNew({ hasEarlier, isLoaded, messages }) {
        const [id, search] = [this.#id, this.#search];
        if (!id || !search || !isLoaded || !this.#isFresh) return false;
        // A device that has not shown the conversation before uses the read mark that nodes report.
        search.mark ??= this.client.readMark(id);
        const { mark } = search;
        const [first] = messages;
        const isReached = mark !== undefined && first && compare(first, mark) <= 0;
        if (hasEarlier && !isReached && messages.length < searchedMax) {
            if (!this.view.earlier.isAsking) {
                this.view.earlier.ask(() => this.client.loadEarlier(id));
            }
            return false;
        }
        this.#search = undefined;
        this.#firstNew = firstUnread(messages, mark);
        return search.scrolls && this.view.list.isAtEnd;
    }

    /** @param {Message[]} messages */
    #announce(messages) {
        const last = messages.at(-1);
        if (!last || last.id === this.#lastHeard) return;
        const isFirst = this.#lastHeard === "";
        this.#lastHeard = last.id;
        if (isFirst || last.isMine || document.hidden) return;
        const { name } = this.context.people.person(last.from);
        this.context.announcer.say(texts.conversation.arrived(name, spokenText(last)));
    }

    /**
     * Restores the text of a rejected message, or of a rejected edit that is not in the edit bar, as
     * the draft, before a text that the user has begun meanwhile.
     *
     * @param {string} id
     * @param {string} text
     */
    takeBack(id, text) {
        const { composer } = this.view;
        const draft = id === this.#id ? composer.draft : this.#drafts.of(id);
        const both = draft === "" ? text : `${text}\n${draft}`;
        if (id === this.#id) composer.draft = both;
        else this.#drafts.keep(id, both);
    }

    /** @returns {ConversationActions} */
    #actions() {
        const { client, context } = this;
        const id = () => this.#id ?? "";
        return {
            back: () => location.hash = chatsAddress,
            openPins: () => location.hash = pinsAddress(id()),
            openChatOptions: () => this.#openOptions(),
            loadEarlier: () => client.loadEarlier(id()),
            send: (text) => {
                if (this.#search) this.#search.scrolls = false;
                client.send(id(), text);
                context.onSent();
            },
            sendFile: (file) => this.#sendFile(file),
            sendVoice: (file, text) => {
                client.sendFile(id(), file, { type: "voice", text });
                context.onSent();
            },
            setTyping: (isTyping) => client.setTyping(id(), isTyping),
            saveEdit: (text) => this.edit.save(text),
            cancelEdit: () => this.edit.cancel(),
            ...makeMessageActions(context, (message) => this.edit.begin(message)),
        };
    }

    /**
     * Sends an image file as a photo, and any other file as a text message with the file's name.
     * @param {File} file
     */
    #sendFile(file) {
        const id = this.#id;
        if (!id) return;
        if (file.size > fileBytesMax) {
            return showFailure(new Error(texts.composer.tooLarge), texts.composer.tooLarge);
        }
        if (file.type.startsWith("image/")) return this.#sendPhoto(id, file);
        this.#sendNamed(id, file);
    }

    /**
     * @param {string} id
     * @param {File} file
     */
    #sendNamed(id, file) {
        this.client.sendFile(id, file, { type: "text", text: file.name });
        this.context.onSent();
    }

    /**
     * @param {string} id
     * @param {File} file
     */
    async #sendPhoto(id, file) {
        const photo = await preparePhoto(file);
        // This browser cannot decode the image, so it is sent as a named file.
        if (!photo) return this.#sendNamed(id, file);
        if (photo.file.size > fileBytesMax) {
            return showFailure(new Error(texts.composer.tooLarge), texts.composer.tooLarge);
        }
        this.client.sendFile(id, photo.file, { type: "image", preview: photo.preview });
        this.context.onSent();
    }

    #openOptions() {
        const chat = this.#id ? this.client.conversation(this.#id).chat : undefined;
        if (chat) openChatOptions(chat, this.context.chatActions, { isOpen: true });
    }

    /** Closes the conversation, and any open dialog of the page, when the user signs out. */
    dispose() {
        this.close();
        closeDialog();
    }
}

/**
 * @param {Item[]} items
 * @returns {Map<string, Item>}
 */
function itemsByMessage(items) {
    const found = new Map();
    for (const item of items) {
        found.set(item.id, item);
        if (item.message) found.set(item.message, item);
    }
    return found;
}
