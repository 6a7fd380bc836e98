import { closeDialog, openDialog, titledDialog } from "../dialogs/dialog.js";
import { element, uniqueID } from "../parts/dom.js";
import { formField } from "../parts/form-field.js";
import { texts } from "../texts.js";

/** @typedef {import("../../client/types.js").Item} Item */

/**
 * @typedef {{title: string, due?: string, priority?: "low" | "medium" | "high"}} ItemFields
 */

const words = texts.items;
const titleMax = 256;
const minuteDigits = 16;

/**
 * Returns the dialog for creating or editing an action item.
 *
 * @param {string} title
 * @param {ItemFields} fields
 * @param {(fields: ItemFields) => void} save
 */
export function makeItemForm(title, fields, save) {
    const name = formField(words.name, {
        name: "title",
        value: fields.title.slice(0, titleMax),
        maxlength: titleMax,
        required: true,
        dir: "auto",
    });
    const due = formField(words.due, {
        type: "datetime-local",
        name: "due",
        value: fields.due ? localMinutes(fields.due) : undefined,
    });
    const priority = priorityField(fields.priority);
    const onSubmit = (/** @type {Event} */ event) => {
        event.preventDefault();
        const time = due.input.value;
        closeDialog();
        save({
            title: name.input.value.trim(),
            due: time === "" ? undefined : new Date(time).toISOString(),
            priority: priority.value(),
        });
    };
    const form = element(
        "form",
        { class: "form", onsubmit: onSubmit },
        name.element,
        due.element,
        priority.element,
        element("button", { class: "button primary wide" }, words.save),
    );
    return titledDialog(title, {}, form);
}

/**
 * @param {string} title
 * @param {ItemFields} fields
 * @param {(fields: ItemFields) => void} save
 */
export function openItemForm(title, fields, save) {
    openDialog(makeItemForm(title, fields, save));
}

/** @param {ItemFields["priority"]} chosen */
function priorityField(chosen) {
    const id = uniqueID();
    const option = (/** @type {string} */ value, /** @type {string} */ text) =>
        element("option", { value, selected: value === (chosen ?? "") }, text);
    const select = element(
        "select",
        { id, class: "field-input", name: "priority" },
        option("", words.noPriority),
        ...Object.entries(words.priorities).map(([value, text]) => option(value, text)),
    );
    const label = element("label", { for: id, class: "field-label" }, words.priority);
    return {
        element: element("div", { class: "field" }, label, select),
        value: () => /** @type {ItemFields["priority"]} */ (select.value || undefined),
    };
}

/**
 * Returns a time in the format of a `datetime-local` field: local time, to the minute.
 *
 * @param {string} at
 */
function localMinutes(at) {
    const date = new Date(at);
    const local = new Date(date.getTime() - date.getTimezoneOffset() * 60_000);
    return local.toISOString().slice(0, minuteDigits);
}
