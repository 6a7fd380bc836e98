import { element, setAttribute, setShown, setText } from "../parts/dom.js";
import { fileURL } from "./file-urls.js";
import { icon } from "../parts/icons.js";
import { texts } from "../texts.js";

/**
 * @typedef {import("./message-content.js").ContentActions} ContentActions
 * @typedef {import("./message-content.js").ContentView} ContentView
 */

/**
 * The content of a photo message: the caption, and the preview or, if the message has no preview,
 * the photo itself.
 */
export class ImageContent {
    #image = element("img", { class: "photo", alt: "", hidden: true, decoding: "async" });
    #missing = element(
        "span",
        { class: "photo-missing", hidden: true },
        icon("warning"),
        texts.message.photoMissing,
    );
    #button = element(
        "button",
        {
            type: "button",
            class: "photo-button",
            onclick: () =>
                this.#view && this.actions.openPhoto(this.#view.message, this.#view.sender),
        },
        this.#image,
        this.#missing,
    );
    #caption = element("p", { class: "text-content", dir: "auto" });
    element = element("div", { class: "image-content" }, this.#button, this.#caption);
    /** @type {ContentView | undefined} */
    #view;
    #shown = "";

    /** @param {ContentActions} actions */
    constructor(actions) {
        this.actions = actions;
    }

    /** @param {ContentView} view */
    render(view) {
        this.#view = view;
        const { message } = view;
        setAttribute(this.#button, "aria-label", texts.message.photoFrom(view.sender));
        setText(this.#caption, message.text);
        setShown(this.#caption, message.text !== "");
        const file = message.preview ?? message.blob;
        if (!file || file === this.#shown) return;
        this.#shown = file;
        this.#load(message.conversation, file);
    }

    /**
     * @param {string} conversation
     * @param {string} file
     */
    async #load(conversation, file) {
        setShown(this.#image, false);
        try {
            const url = await fileURL(file, () => this.actions.file(conversation, file));
            if (this.#shown !== file) return;
            this.#image.src = url;
            setShown(this.#image, true);
            setShown(this.#missing, false);
        } catch (error) {
            if (this.#shown !== file) return;
            console.error("grapevine: a photo cannot be loaded:", error);
            // The next rendering retries the download.
            this.#shown = "";
            setShown(this.#missing, true);
        }
    }
}
