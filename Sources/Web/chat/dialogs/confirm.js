import { alertDialog } from "./alert.js";
import { textButton } from "../parts/button.js";
import { closeDialog, openDialog } from "./dialog.js";
import { texts } from "../texts.js";

/**
 * Returns the confirmation dialog for an irreversible action.
 *
 * @param {{title: string, text: string, confirm: string}} words `confirm` is the label of the
 *     button that runs the action
 * @param {() => void} action
 */
export function makeConfirm({ title, text, confirm }, action) {
    const onConfirm = () => {
        closeDialog();
        action();
    };
    const cancel = textButton(texts.cancel, closeDialog, "quiet");
    // "Cancel" has the focus, so that a key held too long does not confirm the action.
    cancel.autofocus = true;
    return alertDialog(title, text, textButton(confirm, onConfirm, "destructive"), cancel);
}

/**
 * Opens the confirmation dialog for an irreversible action.
 *
 * @param {{title: string, text: string, confirm: string}} words
 * @param {() => void} action
 */
export function openConfirm(words, action) {
    openDialog(makeConfirm(words, action));
}
