import { attempt } from "./alert.js";
import { textButton } from "../parts/button.js";
import { openDialog, titledDialog } from "./dialog.js";
import { element, setChildren } from "../parts/dom.js";
import { emptyState } from "../parts/empty-state.js";
import { texts } from "../texts.js";

const words = texts.blocks;

/**
 * Returns the dialog that lists the blocked users, each with an "Unblock" button.
 *
 * @param {{user: string, name: string}[]} people
 * @param {(user: string) => Promise<void>} unblock
 */
export function makeBlockedPeople(people, unblock) {
    const list = element("ul", { class: "blocked-list" });
    const empty = emptyState("person", words.emptyTitle, words.emptyText);
    const content = element("div", {}, people.length > 0 ? list : empty);
    for (const { user, name } of people) {
        const end = () =>
            attempt(
                unblock(user).then(() => {
                    row.remove();
                    if (list.childElementCount === 0) setChildren(content, empty);
                }),
            );
        const row = element(
            "li",
            { class: "blocked-row" },
            element("span", { dir: "auto" }, name),
            textButton(words.unblock, end, "quiet"),
        );
        list.append(row);
    }
    return titledDialog(words.title, {}, content);
}

/**
 * @param {{user: string, name: string}[]} people
 * @param {(user: string) => Promise<void>} unblock
 */
export function openBlockedPeople(people, unblock) {
    openDialog(makeBlockedPeople(people, unblock));
}
