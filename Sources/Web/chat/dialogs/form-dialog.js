import { sentenceOf, showFailure } from "./alert.js";
import { closeDialog, titledDialog } from "./dialog.js";
import { element, setText } from "../parts/dom.js";
import { formFailure } from "../parts/form-field.js";
import { texts } from "../texts.js";

/**
 * Returns a form dialog that closes once the form is saved. If saving fails, the dialog shows the
 * error and keeps the input.
 *
 * @param {{title: string, submit: string, failed: string, style?: string}} words `failed` is logged
 *   with an error, and `style` is the style of the submit button
 * @param {Node[]} fields
 * @param {() => Promise<unknown>} save
 */
export function formDialog({ title, submit: name, failed, style = "primary" }, fields, save) {
    const failure = formFailure();
    const submit = element("button", { class: `button ${style} wide` }, name);
    const onSubmit = async (/** @type {Event} */ event) => {
        event.preventDefault();
        submit.disabled = true;
        setText(failure, "");
        try {
            await save();
            // The user may have closed this dialog and opened another one.
            if (dialog.open) closeDialog();
        } catch (error) {
            if (!dialog.open) return showFailure(error);
            console.error(`grapevine: ${failed}:`, error);
            setText(failure, sentenceOf(error) ?? texts.noNode);
        }
        submit.disabled = false;
    };
    const form = element("form", { class: "form", onsubmit: onSubmit }, ...fields, failure, submit);
    const dialog = titledDialog(title, {}, form);
    return dialog;
}
