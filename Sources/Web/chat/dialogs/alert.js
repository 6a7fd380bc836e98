import { textButton } from "../parts/button.js";
import { closeDialog, openDialog } from "./dialog.js";
import { element, uniqueID } from "../parts/dom.js";
import { texts } from "../texts.js";

/**
 * Returns an error alert: the title "Error", a sentence, and an "OK" button.
 *
 * @param {string} sentence
 */
export function makeAlert(sentence) {
    return alertDialog(texts.error, sentence, textButton(texts.ok, closeDialog, "primary"));
}

/**
 * Returns an alert dialog with a sentence that the user answers with one of the buttons.
 *
 * @param {string} heading
 * @param {string} sentence
 * @param {...Node} buttons
 */
export function alertDialog(heading, sentence, ...buttons) {
    const [title, text] = [uniqueID(), uniqueID()];
    return element(
        "dialog",
        {
            class: "dialog alert",
            role: "alertdialog",
            "aria-labelledby": title,
            "aria-describedby": text,
        },
        element(
            "div",
            { class: "dialog-panel" },
            element("h2", { id: title, class: "alert-title" }, heading),
            element("p", { id: text, class: "alert-text" }, sentence),
            ...buttons,
        ),
    );
}

/**
 * Logs a failure and shows the node's error message, or `otherwise` if the failure has no message.
 *
 * @param {unknown} failure
 * @param {string} [otherwise] the sentence for a failure without a message
 */
export function showFailure(failure, otherwise = texts.noNode) {
    console.error("grapevine:", failure);
    openDialog(makeAlert(sentenceOf(failure) ?? otherwise));
}

/** Shows an alert that a text is `excess` bytes too long. @param {number} excess */
export function showTooLong(excess) {
    openDialog(makeAlert(texts.composer.tooLong(excess)));
}

/**
 * Waits for a promise, and shows an alert if it rejects.
 *
 * @param {Promise<unknown> | void} attempted
 * @param {string} [otherwise] the sentence for a failure without a message
 */
export async function attempt(attempted, otherwise) {
    try {
        await attempted;
    } catch (error) {
        showFailure(error, otherwise);
    }
}

/**
 * @param {unknown} failure
 * @returns {string | undefined}
 */
export function sentenceOf(failure) {
    if (typeof failure !== "object" || failure === null) return undefined;
    if (!("message" in failure) || typeof failure.message !== "string") return undefined;
    return "code" in failure && failure.code !== 0 && failure.message !== ""
        ? failure.message
        : undefined;
}
