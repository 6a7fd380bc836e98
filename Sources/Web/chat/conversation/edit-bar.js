import { showTooLong } from "../dialogs/alert.js";
import { iconButton } from "../parts/button.js";
import { element, setShown } from "../parts/dom.js";
import { TextField } from "../parts/text-field.js";
import { texts } from "../texts.js";

const words = texts.editBar;

/**
 * The bar above the composer in which a message is edited. The bar keeps the typed text until the
 * edit is accepted or cancelled.
 */
export class EditBar {
    #message = "";
    #field = new TextField(
        words.field,
        {
            class: "text-field",
            onkeydown: (/** @type {KeyboardEvent} */ event) => {
                if (event.key === "Escape") this.actions.cancel();
            },
        },
        { onChange: () => this.#check(), onEnter: () => this.#onSave() },
    );
    #save = iconButton("checkFilled", words.save, () => this.#onSave(), "edit-save");
    element = element(
        "div",
        { class: "edit-bar", hidden: true },
        iconButton("closeFilled", words.cancel, () => this.actions.cancel(), "edit-cancel"),
        this.#field.element,
        this.#save,
    );

    /** @param {{save: (text: string) => void, cancel: () => void}} actions */
    constructor(actions) {
        this.actions = actions;
    }

    /** @param {{message: string, text: string, isSaving: boolean} | undefined} view */
    render(view) {
        setShown(this.element, view !== undefined);
        if (!view) {
            this.#message = "";
            return;
        }
        if (view.message !== this.#message) {
            this.#message = view.message;
            this.#field.value = view.text;
            this.#field.element.focus();
        }
        this.#field.element.readOnly = view.isSaving;
        this.isSaving = view.isSaving;
        this.#check();
    }

    #check() {
        this.#save.disabled = this.isSaving || this.#field.isBlank;
    }

    #onSave() {
        if (this.#save.disabled) return;
        const { excess } = this.#field;
        if (excess > 0) showTooLong(excess);
        else this.actions.save(this.#field.value);
    }
}
