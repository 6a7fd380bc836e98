import { attempt } from "./alert.js";
import { closeDialog, openDialog, titledDialog } from "./dialog.js";
import { chatAddress } from "./route.js";
import { texts } from "./texts.js";

const loadAccountForms = () => import("./account-forms.js");
const loadBlockedPeople = () => import("./blocked-people.js");
const loadNewChat = () => import("./new-chat.js");
const loadProfileForm = () => import("./profile-form.js");
const loadSampleData = () => import("./sample-data.js");
const loadSettings = () => import("./settings.js");

/** The dialogs that the sidebar opens. Their modules are loaded after the list of chats. */
export class SideDialogs {
    /**
     * @param {{
     *   client: import("../client/client.js").Client,
     *   notifications: import("./notifications.js").Notifications,
     *   people: import("./people.js").People,
     *   toast: import("./toast.js").Toast,
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

    /** Loads the modules before they are needed, so that they are kept for a start offline. */
    async load() {
        await Promise.all([
            loadAccountForms(),
            loadBlockedPeople(),
            loadNewChat(),
            loadProfileForm(),
            loadSampleData(),
            loadSettings(),
        ]);
    }

    async openNewChat() {
        const { openNewChat } = await loadNewChat();
        openNewChat(async (chat) => {
            location.hash = chatAddress(await this.client.createConversation(chat));
        });
    }

    async addSampleData() {
        const { addSampleData } = await loadSampleData();
        await addSampleData(this.client);
    }

    async openSettings() {
        const { openSettings } = await loadSettings();
        const { client, notifications } = this;
        openSettings({
            email: client.email,
            node: client.node,
            permission: notifications.permission,
            debugOffline: client.debugOffline,
        }, {
            editProfile: () => attempt(this.#editProfile()),
            enableNotifications: () => this.answer(() => notifications.accept()),
            setDebugOffline: (isOffline) => client.debugOffline = isOffline,
            openAccountForm: (form) => attempt(this.#openAccountForm(form)),
            openBlocked: () => attempt(this.#openBlocked()),
            signOut: (everywhere) => attempt(client.signOut({ everywhere })),
        });
    }

    /**
     * Answers the offer of notifications.
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
    async #openAccountForm(form) {
        const { openAccountForm } = await loadAccountForms();
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
        const { openBlockedPeople } = await loadBlockedPeople();
        const users = await this.client.blocked();
        await this.client.loadProfiles(users);
        const people = users.map((user) => ({ user, name: this.people.person(user).name }));
        openBlockedPeople(people, (user) => this.client.unblock(user));
    }

    async #editProfile() {
        const { ProfileForm } = await loadProfileForm();
        const { client } = this;
        const form = new ProfileForm(texts.profile.save, (profile) => {
            closeDialog();
            client.setProfile(profile);
        });
        form.render(client.profile(client.user ?? "") ?? { user: client.user ?? "" });
        openDialog(titledDialog(texts.profile.title, {}, form.element));
    }
}
