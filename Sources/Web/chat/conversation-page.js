import { showFailure } from "./alert.js";
import { openChatOptions } from "./chat-actions.js";
import { Conversation } from "./conversation.js";
import { closeDialog } from "./dialog.js";
import { Drafts } from "./drafts.js";
import { makeMessageActions } from "./message-actions.js";
import { MessageEdit } from "./message-edit.js";
import { spokenText } from "./message-row.js";
import { preparePhoto } from "./photo.js";
import { chatsAddress, pinsAddress } from "./route.js";
import { texts } from "./texts.js";
import { firstUnread } from "./timeline.js";

/**
 * @typedef {import("../client/client.js").Client} Client
 * @typedef {import("../client/types.js").Message} Message
 * @typedef {import("../client/types.js").Item} Item
 * @typedef {import("./people.js").People} People
 * @typedef {import("./conversation.js").ConversationActions} ConversationActions
 */

/**
 * What the conversation needs from the rest of the page.
 *
 * @typedef {{
 *   client: Client,
 *   people: People,
 *   toast: import("./toast.js").Toast,
 *   announcer: import("./announcer.js").Announcer,
 *   onSent: () => void,
 *   onView: (conversation: string | undefined) => void,
 *   chatActions: ReturnType<typeof import("./chat-actions.js").makeChatActions>,
 * }} ConversationContext
 */

const fileBytesMax = 25 * 1024 * 1024;
/** The most messages that are loaded to find the first of those that were not read. */
const searchedMax = 500;

/**
 * The open conversation: it gives the component its view, and turns what the user does into
 * requests of the client.
 */
export class ConversationPage {
    /** @type {string | undefined} */
    #id;
    #unread = 0;
    /** @type {string | undefined} */
    #firstNew;
    /** The number of messages in which the first that was not read was looked for. */
    #searched = 0;
    /** Whether the conversation was opened, and has still to be scrolled to what is new. */
    #isOpening = false;
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
     * @param {string} [message] one to scroll to
     */
    open(id, message) {
        this.#wanted = message;
        if (id !== this.#id) {
            this.close();
            this.#id = id;
            this.#lastHeard = "";
            this.#unread = this.client.conversation(id).chat?.unread ?? 0;
            this.#searched = 0;
            this.#isOpening = message === undefined;
            this.view.composer.draft = this.#drafts.of(id);
            this.view.retry.ask(() => this.#load(id));
            this.#tellView();
        }
        this.render();
    }

    close() {
        if (!this.#id) return;
        this.view.composer.leave();
        this.view.retry.forget();
        this.#drafts.keep(this.#id, this.view.composer.draft);
        this.client.closeConversation(this.#id);
        this.#id = undefined;
        this.#tellView();
        this.edit.forget();
        this.#firstNew = undefined;
    }

    render() {
        const id = this.#id;
        if (!id) return;
        const { client, context: { people } } = this;
        const state = client.conversation(id);
        this.#markFirstNew(state);
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
        if (this.#isOpening && this.#firstNew && this.view.list.scrollTo(this.#firstNew)) {
            this.#isOpening = false;
        }
        this.#announce(state.messages);
    }

    /** @param {string} id */
    async #load(id) {
        try {
            await this.client.openConversation(id);
        } catch (error) {
            const { code } = /** @type {import("../client/types.js").Failure} */ (error);
            if (code !== 403 && code !== 404) throw error;
            console.warn("grapevine: no such conversation:", error);
            this.#leaveUnknown(id);
        }
    }

    /**
     * Says that there is no such conversation, as after a link to one that the user is not in; one
     * that has just been created is not known to the nodes yet.
     *
     * @param {string} id
     */
    #leaveUnknown(id) {
        if (id !== this.#id || this.client.conversation(id).chat) return;
        location.replace(chatsAddress);
        showFailure(new Error(texts.conversation.unknown), texts.conversation.unknown);
    }

    /** A hidden page reads nothing: what arrives meanwhile stays unread, below the line "New". */
    #onVisibility() {
        this.client.isVisible = !document.hidden;
        this.#tellView();
        if (!this.#id) return;
        // A page that is reloaded or closed is hidden before.
        this.#drafts.keep(this.#id, this.view.composer.draft);
        this.#firstNew = undefined;
        this.#unread = document.hidden ? 0 : this.client.conversation(this.#id).chat?.unread ?? 0;
        this.render();
    }

    #tellView() {
        this.context.onView(document.hidden ? undefined : this.#id);
    }

    /**
     * Finds where what is new begins; earlier messages are loaded until it is found.
     *
     * @param {import("../client/types.js").ConversationView} state
     */
    #markFirstNew({ hasEarlier, isLoaded, messages }) {
        if (!isLoaded || this.#unread === 0 || this.#firstNew) return;
        this.#firstNew = firstUnread(messages, this.#unread);
        if (this.#firstNew) return;
        if (!hasEarlier || messages.length >= searchedMax) {
            this.#firstNew = messages.find(({ isMine }) => !isMine)?.id;
        } else if (this.#searched !== messages.length) {
            this.#searched = messages.length;
            this.view.retry.ask(() => this.client.loadEarlier(this.#id ?? ""));
        }
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
     * Makes a text that was refused a draft again, unless another one has been begun.
     *
     * @param {string} id
     * @param {string} text
     */
    takeBack(id, text) {
        const { composer } = this.view;
        if (id !== this.#id) this.#drafts.keep(id, this.#drafts.of(id) || text);
        else if (composer.draft === "") composer.draft = text;
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

    /** Sends a picture as one, and any other file by its name. @param {File} file */
    #sendFile(file) {
        const id = this.#id;
        if (!id) return;
        if (file.type.startsWith("image/")) return this.#sendPhoto(id, file);
        if (file.size > fileBytesMax) {
            return showFailure(new Error(texts.composer.tooLarge), texts.composer.tooLarge);
        }
        this.client.sendFile(id, file, { type: "text", text: file.name });
        this.context.onSent();
    }

    /**
     * @param {string} id
     * @param {Blob} file
     */
    async #sendPhoto(id, file) {
        if (file.size > fileBytesMax) {
            return showFailure(new Error(texts.composer.tooLarge), texts.composer.tooLarge);
        }
        const photo = await preparePhoto(file);
        if (!photo) {
            return showFailure(new Error(texts.composer.noPicture), texts.composer.noPicture);
        }
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

    /** Closes what belongs to the conversation, when the user signs out. */
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
