import { attempt } from "./alert.js";
import { closeDialog, openDialog, titledDialog } from "./dialog.js";
import { chatAddress } from "./route.js";
import { texts } from "./texts.js";

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
     * }} context
     * @param {() => void} onChange called when the permission for notifications has changed
     */
    constructor({ client, notifications }, onChange) {
        this.client = client;
        this.notifications = notifications;
        this.onChange = onChange;
    }

    /** Loads the modules before they are needed, so that they are kept for a start offline. */
    async load() {
        await Promise.all([loadNewChat(), loadProfileForm(), loadSampleData(), loadSettings()]);
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
