/** The sample states of dialogs that the component gallery shows. */

import { makeAccountForm } from "../dialogs/account-forms.js";
import { makeAlert } from "../dialogs/alert.js";
import { makeBlockedPeople } from "../dialogs/blocked-people.js";
import { makeConfirm } from "../dialogs/confirm.js";
import { openDialog, titledDialog } from "../dialogs/dialog.js";
import { element } from "../parts/dom.js";
import { editList } from "../conversation/edit-history.js";
import { pageStates } from "./gallery-pages.js";
import { me, message, mixedMessages, person, samplePhoto } from "./gallery-samples.js";
import { makeItemForm } from "../list/item-form.js";
import { MessageDetails } from "../conversation/message-details.js";
import { makeMessageOptions } from "../conversation/message-options.js";
import { makeNewChat } from "../list/new-chat.js";
import { makePhotoViewer } from "../dialogs/photo-viewer.js";
import { ProfileForm } from "../dialogs/profile-form.js";
import { makeSettings } from "../dialogs/settings.js";
import { texts } from "../texts.js";

const nothing = () => {};

const optionActions = {
    edit: nothing,
    pin: nothing,
    unpin: nothing,
    createItem: nothing,
    deleteForMe: nothing,
    deleteForEveryone: nothing,
    now: Date.now,
    editWindow: () => 15 * 60 * 1000,
    copy: nothing,
};

const settingsActions = {
    editProfile: nothing,
    enableNotifications: nothing,
    setDebugOffline: nothing,
    openAccountForm: nothing,
    openBlocked: nothing,
    signOut: nothing,
};

const accountActions = {
    changePassword: () => Promise.resolve(),
    changeEmail: () => Promise.resolve(),
    deleteAccount: () => Promise.resolve(),
};

/** @param {HTMLDialogElement} dialog */
function over(dialog) {
    document.body.append(pageStates["main-chat"]());
    openDialog(dialog);
}

/** @param {string} email */
function refusedChat(email) {
    const dialog = makeNewChat(() => {
        throw { code: 404, message: "No account has this e-mail address" };
    });
    for (const input of dialog.querySelectorAll("input")) input.value = email;
    over(dialog);
    dialog.querySelector("form")?.requestSubmit();
}

/** @type {Record<string, () => void>} */
export const dialogStates = {
    "message-options-mine": () => over(makeMessageOptions(message(me, "Sample"), optionActions)),
    "message-options-theirs": () =>
        over(makeMessageOptions(message("u-bob", "Sample"), optionActions)),
    "message-options-pinned": () => {
        const pinned = { pinnedAt: new Date().toISOString() };
        over(makeMessageOptions(message("u-bob", "Sample", pinned), optionActions));
    },
    "alert": () => over(makeAlert("You can only edit your own messages within 15 minutes")),
    "delete-for-everyone": () => {
        const { deleteForEveryone: title, deleteForEveryoneText: text } = texts.options;
        over(makeConfirm({ title, text, confirm: texts.delete }, nothing));
    },
    "change-password": () => over(makeAccountForm("password", accountActions)),
    "change-email": () => over(makeAccountForm("email", accountActions)),
    "delete-account": () => over(makeAccountForm("deletion", accountActions)),
    "blocked-people": () => {
        const people = ["u-alice", "u-bob"].map((user) => ({ user, name: person(user).name }));
        over(makeBlockedPeople(people, () => Promise.resolve()));
    },
    "blocked-people-none": () => over(makeBlockedPeople([], () => Promise.resolve())),
    "new-chat": () => over(makeNewChat(async () => {})),
    "new-chat-refused": () => refusedChat("nobody@example.org"),
    "item-form": () => {
        const fields = {
            title: "Book a table for four",
            due: "2026-11-27T11:30:00Z",
            priority: /** @type {const} */ ("high"),
        };
        over(makeItemForm(texts.items.editTitle, fields, nothing));
    },
    "settings": () => {
        const view = { email: "robin@example.org", node: "http://127.0.0.1:7301" };
        over(
            makeSettings({ ...view, permission: "default", debugOffline: false }, settingsActions),
        );
    },
    "settings-denied": () => {
        const view = { email: "robin@example.org", node: "http://127.0.0.1:7301" };
        over(makeSettings({ ...view, permission: "denied", debugOffline: true }, settingsActions));
    },
    "profile": () => {
        const form = new ProfileForm(texts.profile.save, nothing);
        form.render({ user: me, name: "Robin Vale" });
        over(titledDialog(texts.profile.title, {}, form.element));
    },
    "edit-history": () => {
        const edits = [
            { at: "2026-11-24T11:02:00Z", text: "I booked a table." },
            { at: "2026-11-24T11:03:00Z", text: "I booked the big table." },
            { at: "2026-11-24T11:05:00Z", text: "I booked the big table at the window." },
        ];
        over(titledDialog(texts.message.historyTitle, {}, editList(edits)));
    },
    "details": () => {
        const at = new Date().toISOString();
        const sent = mixedMessages().filter((each) => each.isMine).slice(-2)[0];
        const others = ["u-alice", "u-bob"].map((user) => ({ user, name: person(user).name }));
        const details = new MessageDetails();
        details.render({ ...sent, readBy: ["u-bob"] }, others, [{ user: "u-bob", readAt: at }]);
        over(details.dialog());
    },
    "photo": () => {
        const image = element("img", { alt: texts.message.photoFrom("Bob Beam") });
        samplePhoto().then((blob) => image.src = URL.createObjectURL(blob));
        over(makePhotoViewer(texts.message.photoFrom("Bob Beam"), image));
    },
};
