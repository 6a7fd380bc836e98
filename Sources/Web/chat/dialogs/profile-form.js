import { showFailure } from "./alert.js";
import { Avatar } from "../parts/avatar.js";
import { textButton } from "../parts/button.js";
import { element, setShown, setText } from "../parts/dom.js";
import { formField } from "../parts/form-field.js";
import { makePicture } from "./profile-picture.js";
import { texts } from "../texts.js";

const words = texts.profile;
const nameMax = 256;

/** The form for the user's name and picture, used after sign-up and for later changes. */
export class ProfileForm {
    /** @type {string | undefined} */
    #photo;
    #key = "";
    #avatar = new Avatar("large");
    #name = formField(words.name, {
        name: "name",
        autocomplete: "name",
        required: true,
        maxlength: nameMax,
        dir: "auto",
        oninput: () => this.#showPicture(),
    });
    #file = element("input", {
        type: "file",
        accept: "image/*",
        hidden: true,
        onchange: () => this.#takeFile(),
    });
    #remove = textButton(words.removePhoto, () => this.#setPhoto(undefined), "quiet");
    #submit = element("button", { class: "button primary wide" });
    element = element(
        "form",
        {
            class: "profile-form",
            onsubmit: (/** @type {Event} */ event) => {
                event.preventDefault();
                this.save({ name: this.#name.input.value.trim(), photo: this.#photo ?? "" });
            },
        },
        element(
            "div",
            { class: "picture-choice" },
            this.#avatar.element,
            element(
                "div",
                { class: "picture-buttons" },
                textButton(words.choosePhoto, () => this.#file.click()),
                this.#remove,
                this.#file,
            ),
        ),
        this.#name.element,
        this.#submit,
    );

    /**
     * @param {string} submit
     * @param {(profile: {name: string, photo: string}) => void} save
     */
    constructor(submit, save) {
        this.save = save;
        setText(this.#submit, submit);
    }

    /** @param {{user: string, name?: string, photo?: string}} profile */
    render({ user, name = "", photo }) {
        this.#key = user;
        this.#name.input.value = name;
        this.#setPhoto(photo);
    }

    async #takeFile() {
        const [file] = this.#file.files ?? [];
        if (!file) return;
        try {
            this.#setPhoto(await makePicture(file));
        } catch (error) {
            showFailure(error, words.photoUnusable);
        }
    }

    /** @param {string | undefined} photo */
    #setPhoto(photo) {
        this.#photo = photo;
        setShown(this.#remove, Boolean(photo));
        this.#showPicture();
    }

    #showPicture() {
        this.#avatar.render({ key: this.#key, name: this.#name.input.value, photo: this.#photo });
    }
}

/**
 * Returns the page of a new user: the profile form, and a button that skips it.
 *
 * @param {ProfileForm} form
 * @param {() => void} skip
 */
export function firstProfilePage(form, skip) {
    return element(
        "main",
        { class: "sign-in" },
        element(
            "div",
            { class: "card" },
            element("h1", { class: "sign-in-title" }, words.firstTitle),
            element("p", { class: "lead" }, words.firstLead),
            form.element,
            textButton(words.later, skip, "quiet wide"),
        ),
    );
}
