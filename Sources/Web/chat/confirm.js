import { textButton } from "./button.js";
import { closeDialog, openDialog } from "./dialog.js";
import { element, uniqueID } from "./dom.js";
import { texts } from "./texts.js";

/**
 * Makes the question before what nobody can take back.
 *
 * @param {{title: string, text: string, confirm: string}} words `confirm` names what is done
 * @param {() => void} action
 */
export function makeConfirm({ title, text, confirm }, action) {
    const [titleID, textID] = [uniqueID(), uniqueID()];
    const onConfirm = () => {
        closeDialog();
        action();
    };
    const cancel = textButton(texts.cancel, closeDialog, "quiet");
    // A key that is held too long confirms nothing.
    cancel.autofocus = true;
    return element(
        "dialog",
        {
            class: "dialog alert",
            role: "alertdialog",
            "aria-labelledby": titleID,
            "aria-describedby": textID,
        },
        element(
            "div",
            { class: "dialog-panel" },
            element("h2", { id: titleID, class: "alert-title" }, title),
            element("p", { id: textID, class: "alert-text", dir: "auto" }, text),
            textButton(confirm, onConfirm, "destructive"),
            cancel,
        ),
    );
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
