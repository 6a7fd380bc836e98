import { iconButton } from "../parts/button.js";
import { element, uniqueID } from "../parts/dom.js";
import { texts } from "../texts.js";

/**
 * The open dialog; opening another one replaces it.
 *
 * @type {HTMLDialogElement | undefined}
 */
let present;

/**
 * Whether the current entry of the browser history was pushed for a dialog, and the entry's URL.
 *
 * Opening a dialog pushes a history entry, so that the browser's Back button closes the dialog
 * first. If the dialog is closed in another way, the entry stays, and the next dialog reuses the
 * entry. If the Back button leaves the entry while no dialog is open, the page goes back once more,
 * so that the user presses Back only once.
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
 * Opens a modal dialog. The browser keeps the focus inside the dialog, closes it on Escape, and
 * then restores the focus to the element that had it before.
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
    // A press on the backdrop closes the dialog; its event target is the dialog itself.
    dialog.addEventListener("pointerdown", (event) => {
        if (event.target === dialog) dialog.close();
    });
    dialog.showModal();
    const [field] = dialog.querySelectorAll("form input:not([hidden])");
    if (field instanceof HTMLElement) field.focus();
}

/** Closes the open dialog, if there is one. */
export function closeDialog() {
    const dialog = present;
    present = undefined;
    dialog?.close();
}

/**
 * Returns a dialog with a title, a close button and content.
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
                // The title has the initial focus, so that a screen reader reads it first; in a
                // form, the focus moves to the first field.
                element("h2", { id, class: "dialog-title", tabindex: -1, autofocus: true }, title),
                iconButton("close", texts.close, () => dialog.close()),
            ),
            element("div", { class: "dialog-content" }, ...children),
        ),
    );
    return dialog;
}
