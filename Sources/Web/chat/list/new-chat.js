import { openDialog } from "../dialogs/dialog.js";
import { formDialog } from "../dialogs/form-dialog.js";
import { formField } from "../parts/form-field.js";
import { texts } from "../texts.js";

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
    const { submit, title: heading } = words;
    const failed = "a chat was not created";
    return formDialog({ title: heading, submit, failed }, [email.element, title.element], () => {
        const emails = email.input.value.split(",").map((each) => each.trim());
        return create({ emails, title: title.input.value.trim() });
    });
}

/** @param {(chat: {emails: string[], title: string}) => Promise<unknown>} create */
export function openNewChat(create) {
    openDialog(makeNewChat(create));
}
