import { iconButton } from "../parts/button.js";
import { element, uniqueID } from "../parts/dom.js";
import { texts } from "../texts.js";

/**
 * The dialog that is open, of which there is at most one: another one replaces it.
 *
 * @type {HTMLDialogElement | undefined}
 */
let present;

/**
 * Whether the entry of the history that is shown was made for a dialog, and its address.
 *
 * A dialog has an entry, so that Back closes it first. The entry stays when the dialog is closed in
 * another way: the next dialog uses it, and Back passes over it.
 */
let [isDialogEntry, address] = [false, ""];

function noteEntry() {
    [isDialogEntry, address] = [history.state?.isDialog ?? false, location.href];
}

if (globalThis.history) noteEntry();

globalThis.addEventListener("popstate", () => {
    const isElsewhere = location.href !== address;
    const hasLeft = isDialogEntry && !history.state?.isDialog && !isElsewhere;
    noteEntry();
    if (present?.open && (hasLeft || isElsewhere)) closeDialog();
    else if (hasLeft) history.back();
});

/**
 * Opens a modal dialog. The browser keeps the focus inside it, closes it on Escape, and gives the
 * focus back to where it was.
 *
 * @param {HTMLDialogElement} dialog
 * @param {{onClose?: () => void}} [options]
 */
export function openDialog(dialog, { onClose } = {}) {
    closeDialog();
    document.body.append(dialog);
    present = dialog;
    if (!history.state?.isDialog) history.pushState({ isDialog: true }, "");
    noteEntry();
    dialog.addEventListener("close", () => {
        dialog.remove();
        if (present === dialog) present = undefined;
        onClose?.();
    }, { once: true });
    // A press on the backdrop has the dialog itself as its target.
    dialog.addEventListener("pointerdown", (event) => {
        if (event.target === dialog) dialog.close();
    });
    dialog.showModal();
    const [field] = dialog.querySelectorAll("form input:not([hidden])");
    if (field instanceof HTMLElement) field.focus();
}

/** Closes the dialog that is open, if there is one. */
export function closeDialog() {
    const dialog = present;
    present = undefined;
    dialog?.close();
}

/**
 * A dialog with a title, a close button, and a content.
 *
 * @param {string} title
 * @param {{style?: string}} [options]
 * @param {...Node} children
 */
export function titledDialog(title, { style = "" } = {}, ...children) {
    const id = uniqueID();
    const dialog = element(
        "dialog",
        { class: `dialog ${style}`.trim(), "aria-labelledby": id },
        element(
            "div",
            { class: "dialog-panel" },
            element(
                "header",
                { class: "dialog-header" },
                // The focus begins here, so that a screen reader begins with the title; a form
                // moves it to its first field.
                element("h2", { id, class: "dialog-title", tabindex: -1, autofocus: true }, title),
                iconButton("close", texts.close, () => dialog.close()),
            ),
            element("div", { class: "dialog-content" }, ...children),
        ),
    );
    return dialog;
}
