import { openDialog, titledDialog } from "../dialogs/dialog.js";
import { element } from "../parts/dom.js";
import { formatWhole } from "../parts/formats.js";
import { spinner } from "../parts/spinner.js";
import { texts } from "../texts.js";
import { showFailure } from "../dialogs/alert.js";

/** @typedef {{at: string, text: string}} Edit */

/**
 * Returns the list of all versions of a message's text, the current version first.
 *
 * @param {Edit[]} edits the versions, the oldest first
 */
export function editList(edits) {
    const rows = edits.toReversed().map(({ at, text }) =>
        element(
            "li",
            { class: "history-row" },
            element("time", { datetime: at, class: "history-time" }, formatWhole(at)),
            element("p", { class: "history-text", dir: "auto" }, text),
        )
    );
    return element("ol", { class: "history" }, ...rows);
}

/**
 * Opens the edit history dialog, which shows a spinner until the versions are loaded.
 *
 * @param {() => Promise<Edit[]>} load
 */
export async function openEditHistory(load) {
    const place = element("div", {}, spinner());
    const dialog = titledDialog(texts.message.historyTitle, {}, place);
    openDialog(dialog);
    try {
        place.replaceChildren(editList(await load()));
    } catch (error) {
        if (dialog.open) showFailure(error);
    }
}
