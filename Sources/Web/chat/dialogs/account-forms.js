import { openDialog } from "./dialog.js";
import { element } from "../parts/dom.js";
import { formDialog } from "./form-dialog.js";
import { formField } from "../parts/form-field.js";
import { texts } from "../texts.js";

const words = texts.account;

/**
 * The functions by which the account forms change the account; each needs the current password.
 *
 * @typedef {{
 *   changePassword: (password: string, newPassword: string) => Promise<void>,
 *   changeEmail: (password: string, email: string) => Promise<void>,
 *   deleteAccount: (password: string) => Promise<void>,
 * }} AccountActions
 */

/** @typedef {"password" | "email" | "deletion"} AccountForm */

const newPassword = {
    type: "password",
    name: "new-password",
    autocomplete: "new-password",
    required: true,
    minlength: 8,
    maxlength: 256,
};

/**
 * Returns a dialog for changing or deleting the account. An error, such as a wrong password, is
 * shown in the dialog.
 *
 * @param {AccountForm} form
 * @param {AccountActions} actions
 */
export function makeAccountForm(form, actions) {
    const password = formField(words.password, {
        type: "password",
        name: "password",
        autocomplete: "current-password",
        required: true,
    });
    switch (form) {
        case "password": {
            const next = formField(words.newPassword, newPassword, texts.signIn.passwordRule);
            return dialog(
                words.changePassword,
                [password.element, next.element],
                () => actions.changePassword(password.input.value, next.input.value),
            );
        }
        case "email": {
            const email = formField(words.newEmail, {
                type: "email",
                name: "email",
                autocomplete: "email",
                required: true,
            });
            return dialog(
                words.changeEmail,
                [email.element, password.element],
                () => actions.changeEmail(password.input.value, email.input.value.trim()),
            );
        }
        case "deletion": {
            const warning = element("p", {}, words.deletionText);
            return dialog(
                words.deleteAccount,
                [warning, password.element],
                () => actions.deleteAccount(password.input.value),
                "destructive",
            );
        }
    }
}

/**
 * @param {AccountForm} form
 * @param {AccountActions} actions
 */
export function openAccountForm(form, actions) {
    openDialog(makeAccountForm(form, actions));
}

/**
 * @param {string} title the dialog's title, also the label of the submit button
 * @param {Node[]} fields
 * @param {() => Promise<void>} save
 * @param {string} [style]
 */
function dialog(title, fields, save, style) {
    const failed = "the account was not changed";
    return formDialog({ title, submit: title, failed, style }, fields, save);
}
