import { sentenceOf, showFailure } from "./alert.js";
import { closeDialog, openDialog, titledDialog } from "./dialog.js";
import { element, setText } from "./dom.js";
import { formFailure, formField } from "./form-field.js";
import { texts } from "./texts.js";

const words = texts.newChat;
const titleMax = 256;

/**
 * Makes the dialog of a new chat: the e-mail addresses of its people, and a title if it is to have
 * one. A refusal, such as of an unknown address, is shown in it, and what was typed stays.
 *
 * @param {(chat: {emails: string[], title: string}) => Promise<unknown>} create
 */
export function makeNewChat(create) {
    const email = formField(
        words.email,
        { type: "email", name: "email", multiple: true, required: true },
        words.emailHint,
    );
    const title = formField(words.name, {
        name: "title",
        maxlength: titleMax,
        dir: "auto",
        placeholder: words.namePlaceholder,
    });
    const failure = formFailure();
    const submit = element("button", { class: "button primary wide" }, words.submit);
    const onSubmit = async (/** @type {Event} */ event) => {
        event.preventDefault();
        submit.disabled = true;
        setText(failure, "");
        try {
            const emails = email.input.value.split(",").map((each) => each.trim());
            await create({ emails, title: title.input.value.trim() });
            if (made.open) closeDialog();
        } catch (error) {
            if (!made.open) return showFailure(error);
            console.error("grapevine: a chat was not created:", error);
            setText(failure, sentenceOf(error) ?? texts.noNode);
        }
        submit.disabled = false;
    };
    const form = element(
        "form",
        { class: "form", onsubmit: onSubmit },
        email.element,
        title.element,
        failure,
        submit,
    );
    const made = titledDialog(words.title, {}, form);
    return made;
}

/** @param {(chat: {emails: string[], title: string}) => Promise<unknown>} create */
export function openNewChat(create) {
    openDialog(makeNewChat(create));
}
