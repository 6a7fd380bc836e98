import { textButton } from "../parts/button.js";
import { closeDialog, openDialog } from "./dialog.js";
import { element, uniqueID } from "../parts/dom.js";
import { texts } from "../texts.js";

/**
 * Makes the alert of a failure: the title "Error", a sentence, and "OK".
 *
 * @param {string} sentence
 */
export function makeAlert(sentence) {
    return alertDialog(texts.error, sentence, textButton(texts.ok, closeDialog, "primary"));
}

/**
 * Makes a dialog of a sentence that the user has to answer by a button.
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
 * Logs a failure, and shows it in the node's own sentence where there is one.
 *
 * @param {unknown} failure
 * @param {string} [otherwise] the sentence of a failure without one
 */
export function showFailure(failure, otherwise = texts.noNode) {
    console.error("grapevine:", failure);
    openDialog(makeAlert(sentenceOf(failure) ?? otherwise));
}

/** Says that a text has so many bytes too many. @param {number} excess */
export function showTooLong(excess) {
    openDialog(makeAlert(texts.composer.tooLong(excess)));
}

/**
 * Waits for an attempt, and shows its failure.
 *
 * @param {Promise<unknown> | void} attempted
 * @param {string} [otherwise] the sentence of a failure without one
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
