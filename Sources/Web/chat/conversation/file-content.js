import { showFailure } from "../dialogs/alert.js";
import { element, setText } from "../parts/dom.js";
import { fileURL } from "./file-urls.js";
import { icon } from "../parts/icons.js";
import { texts } from "../texts.js";

/**
 * @typedef {import("./message-content.js").ContentActions} ContentActions
 * @typedef {import("./message-content.js").ContentView} ContentView
 */

/**
 * The content of a message with a file other than a photo or a recording: a button with the file's
 * name (the message's text) that saves the file.
 */
export class FileContent {
    #name = element("span", { class: "text-content", dir: "auto" });
    element = element(
        "button",
        { type: "button", class: "file-content", onclick: () => this.#save() },
        icon("file"),
        this.#name,
    );
    /** @type {ContentView | undefined} */
    #view;

    /** @param {ContentActions} actions */
    constructor(actions) {
        this.actions = actions;
    }

    /** @param {ContentView} view */
    render(view) {
        this.#view = view;
        setText(this.#name, view.message.text);
        this.element.title = texts.message.saveFile;
    }

    async #save() {
        const { blob, conversation, text } = this.#view?.message ?? {};
        if (!blob || !conversation) return;
        try {
            const href = await fileURL(blob, () => this.actions.file(conversation, blob));
            element("a", { href, download: text }).click();
        } catch (error) {
            showFailure(error, texts.message.fileMissing);
        }
    }
}
