import { alertDialog } from "./alert.js";
import { textButton } from "../parts/button.js";
import { closeDialog, openDialog } from "./dialog.js";
import { texts } from "../texts.js";

/**
 * Makes the question before what nobody can take back.
 *
 * @param {{title: string, text: string, confirm: string}} words `confirm` names what is done
 * @param {() => void} action
 */
export function makeConfirm({ title, text, confirm }, action) {
    const onConfirm = () => {
        closeDialog();
        action();
    };
    const cancel = textButton(texts.cancel, closeDialog, "quiet");
    // A key that is held too long confirms nothing.
    cancel.autofocus = true;
    return alertDialog(title, text, textButton(confirm, onConfirm, "destructive"), cancel);
}

/**
 * Asks before what nobody can take back.
 *
 * @param {{title: string, text: string, confirm: string}} words
 * @param {() => void} action
 */
export function openConfirm(words, action) {
    openDialog(makeConfirm(words, action));
}
