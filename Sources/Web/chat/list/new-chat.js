import { openDialog } from "../dialogs/dialog.js";
import { formDialog } from "../dialogs/form-dialog.js";
import { formField } from "../parts/form-field.js";
import { texts } from "../texts.js";

const words = texts.newChat;
const titleMax = 256;

/**
 * Returns the dialog for a new chat, with fields for the participants' e-mail addresses and an
 * optional title. An error, such as an address that no user has, is shown in the dialog, which
 * keeps the input.
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
