import { sentenceOf, showFailure } from "./alert.js";
import { closeDialog, titledDialog } from "./dialog.js";
import { element, setText } from "../parts/dom.js";
import { formFailure } from "../parts/form-field.js";
import { texts } from "../texts.js";

/**
 * Makes the dialog of a form that is closed once it is saved. A refusal is shown in it, and what was
 * typed stays.
 *
 * @param {{title: string, submit: string, failed: string, style?: string}} words `failed` is logged
 *   with a refusal, and `style` is that of the button
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
            // The user may have closed it, and opened another.
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
