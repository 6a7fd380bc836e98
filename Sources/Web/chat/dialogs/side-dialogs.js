import { openAccountForm } from "./account-forms.js";
import { attempt } from "./alert.js";
import { openBlockedPeople } from "./blocked-people.js";
import { closeDialog, openDialog, titledDialog } from "./dialog.js";
import { openNewChat } from "../list/new-chat.js";
import { ProfileForm } from "./profile-form.js";
import { chatAddress } from "../route.js";
import { addSampleData } from "../gallery/sample-data.js";
import { openSettings } from "./settings.js";
import { texts } from "../texts.js";

/** The dialogs that the sidebar opens. */
export class SideDialogs {
    /**
     * @param {{
     *   client: import("../../client/client.js").Client,
     *   notifications: import("../list/notifications.js").Notifications,
     *   people: import("../list/people.js").People,
     *   toast: import("../parts/toast.js").Toast,
     * }} context
     * @param {() => void} onChange called when the permission for notifications has changed
     */
    constructor({ client, notifications, people, toast }, onChange) {
        this.client = client;
        this.notifications = notifications;
        this.people = people;
        this.toast = toast;
        this.onChange = onChange;
    }

    openNewChat() {
        openNewChat(async (chat) => {
            location.hash = chatAddress(await this.client.createConversation(chat));
        });
    }

    addSampleData() {
        return addSampleData(this.client);
    }

    openSettings() {
        const { client, notifications } = this;
        openSettings({
            email: client.email,
            node: client.node,
            permission: notifications.permission,
            debugOffline: client.debugOffline,
        }, {
            editProfile: () => this.#editProfile(),
            enableNotifications: () => this.answer(() => notifications.accept()),
            setDebugOffline: (isOffline) => client.debugOffline = isOffline,
            openAccountForm: (form) => this.#openAccountForm(form),
            openBlocked: () => attempt(this.#openBlocked()),
            signOut: (everywhere) => attempt(client.signOut({ everywhere })),
        });
    }

    /**
     * Carries out the user's choice about notifications, such as to turn them on. Calls `onChange`
     * immediately, and again when the choice has taken effect.
     *
     * @param {() => void | Promise<void>} action
     */
    async answer(action) {
        const answered = action();
        this.onChange();
        await answered;
        this.onChange();
    }

    /** @param {import("./account-forms.js").AccountForm} form */
    #openAccountForm(form) {
        const { client, toast } = this;
        openAccountForm(form, {
            changePassword: async (password, newPassword) => {
                await client.changePassword(password, newPassword);
                toast.show(texts.account.passwordChanged);
            },
            changeEmail: async (password, email) => {
                await client.changeEmail(password, email);
                toast.show(texts.account.emailChanged);
            },
            deleteAccount: (password) => client.deleteAccount(password),
        });
    }

    async #openBlocked() {
        const users = await this.client.blocked();
        await this.client.loadProfiles(users);
        const people = users.map((user) => ({ user, name: this.people.person(user).name }));
        openBlockedPeople(people, (user) => this.client.unblock(user));
    }

    #editProfile() {
        const { client } = this;
        const form = new ProfileForm(texts.profile.save, (profile) => {
            closeDialog();
            client.setProfile(profile);
        });
        form.render(client.profile(client.user ?? "") ?? { user: client.user ?? "" });
        openDialog(titledDialog(texts.profile.title, {}, form.element));
    }
}
