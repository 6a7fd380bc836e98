import { closeDialog, openDialog, titledDialog } from "./dialog.js";
import { element } from "../parts/dom.js";
import { icon } from "../parts/icons.js";
import { texts } from "../texts.js";

/**
 * @typedef {{
 *   email?: string,
 *   node?: string,
 *   permission: NotificationPermission | "unsupported",
 *   debugOffline: boolean,
 * }} SettingsView
 */

/**
 * @typedef {{
 *   editProfile: () => void,
 *   enableNotifications: () => void,
 *   setDebugOffline: (isOffline: boolean) => void,
 *   openAccountForm: (form: import("./account-forms.js").AccountForm) => void,
 *   openBlocked: () => void,
 *   signOut: (everywhere: boolean) => void,
 * }} SettingsActions
 */

const words = texts.settings;

/**
 * Returns the settings dialog.
 *
 * @param {SettingsView} view
 * @param {SettingsActions} actions
 */
export function makeSettings(view, actions) {
    const offline = element("input", {
        type: "checkbox",
        role: "switch",
        class: "switch",
        checked: view.debugOffline,
        onchange: () => actions.setDebugOffline(offline.checked),
    });
    return titledDialog(
        words.title,
        {},
        element("p", { class: "settings-account", dir: "auto" }, view.email ?? ""),
        row("person", words.editProfile, actions.editProfile),
        notificationsRow(view.permission, actions.enableNotifications),
        element(
            "label",
            { class: "settings-row" },
            icon("offline"),
            element(
                "span",
                { class: "settings-text" },
                element("span", {}, words.debugOffline),
                element("span", { class: "settings-hint" }, words.debugOfflineText),
            ),
            offline,
        ),
        row("blocked", words.blocked, actions.openBlocked),
        row("pencil", texts.account.changePassword, () => actions.openAccountForm("password")),
        row("pencil", texts.account.changeEmail, () => actions.openAccountForm("email")),
        row("leave", words.signOut, () => actions.signOut(false)),
        row("leave", words.signOutEverywhere, () => actions.signOut(true), "destructive"),
        row(
            "trash",
            texts.account.deleteAccount,
            () => actions.openAccountForm("deletion"),
            "destructive",
        ),
        element("p", { class: "settings-node" }, view.node ? words.node(view.node) : ""),
    );
}

/**
 * @param {SettingsView} view
 * @param {SettingsActions} actions
 */
export function openSettings(view, actions) {
    openDialog(makeSettings(view, actions));
}

/**
 * @param {SettingsView["permission"]} permission
 * @param {() => void} enable
 */
function notificationsRow(permission, enable) {
    if (permission === "default") {
        return row("bell", `${words.notifications}: ${words.notificationsOff}`, enable);
    }
    const hint = permission === "granted" ? words.notificationsOn : words.notificationsDenied;
    return element(
        "div",
        { class: "settings-row" },
        icon("bell"),
        element(
            "span",
            { class: "settings-text" },
            element("span", {}, words.notifications),
            element("span", { class: "settings-hint" }, hint),
        ),
    );
}

/**
 * @param {string} iconName
 * @param {string} text
 * @param {() => void} action
 * @param {string} [style]
 */
function row(iconName, text, action, style = "") {
    return element(
        "button",
        {
            type: "button",
            class: `settings-row ${style}`.trim(),
            onclick: () => {
                closeDialog();
                action();
            },
        },
        icon(iconName),
        element("span", { class: "settings-text" }, text),
    );
}
