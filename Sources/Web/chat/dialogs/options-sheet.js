import { closeDialog, openDialog } from "./dialog.js";
import { element, uniqueID } from "../parts/dom.js";
import { icon } from "../parts/icons.js";
import { texts } from "../texts.js";

/**
 * A choice in a dialog of options; `style` is "destructive" if the action is hard to undo. When
 * `found` resolves with a text that is not empty, the text replaces `title`.
 *
 * @typedef {{
 *   title: string,
 *   found?: Promise<string>,
 *   icon: string,
 *   style?: "destructive",
 *   action: () => void,
 * }} Choice
 */

/**
 * Returns a dialog with a title, choices with dividers between them, and a "Cancel" button.
 *
 * @param {string} title
 * @param {Choice[]} choices
 */
export function makeSheet(title, choices) {
    const id = uniqueID();
    return element(
        "dialog",
        { class: "dialog sheet", "aria-labelledby": id },
        element(
            "div",
            { class: "dialog-panel sheet-panel" },
            element("h2", { id, class: "sheet-title" }, title),
            ...choices.map(makeChoice),
            element("button", {
                type: "button",
                class: "sheet-cancel",
                onclick: closeDialog,
            }, texts.cancel),
        ),
    );
}

/** @param {Choice} choice */
function makeChoice(choice) {
    const title = element("span", {}, choice.title);
    choice.found?.then((found) => found && title.replaceChildren(found));
    return element(
        "button",
        {
            type: "button",
            class: `sheet-choice ${choice.style ?? ""}`.trim(),
            onclick: () => {
                // This dialog is closed first, since the action may open another dialog.
                closeDialog();
                choice.action();
            },
        },
        icon(choice.icon),
        title,
    );
}

/**
 * @param {string} title
 * @param {Choice[]} choices
 */
export function openSheet(title, choices) {
    const sheet = makeSheet(title, choices);
    sheet.addEventListener("keydown", moveFocus);
    openDialog(sheet);
}

/**
 * Moves the focus between the choices with the arrow keys.
 *
 * @param {KeyboardEvent} event
 */
function moveFocus(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step || !(event.currentTarget instanceof HTMLElement)) return;
    const buttons = [...event.currentTarget.querySelectorAll("button")];
    const index = buttons.findIndex((button) => button === document.activeElement);
    buttons[(index + step + buttons.length) % buttons.length]?.focus();
    event.preventDefault();
}
