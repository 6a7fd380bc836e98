import { formatBadge } from "../parts/formats.js";
import { chatAddress } from "../route.js";
import { texts } from "../texts.js";

/**
 * @typedef {import("../../client/client.js").Client} Client
 * @typedef {import("../../client/types.js").Change} Change
 */

/** Whether the user has answered the offer, which is made once. */
const answeredKey = "grapevine.notifications";
/** The name of the lock that a tab holds while a conversation is on its screen. */
const viewedName = (/** @type {string} */ conversation) => `grapevine.viewed ${conversation}`;

/**
 * Notifications: the permission, Web Push, and those that an open page shows itself.
 *
 * The permission is asked only by a press of a button that says what it is for.
 */
export class Notifications {
    #hasSent = false;
    /** Ends the lock of the conversation on screen. */
    #endView = () => {};
    /** The last change that is shown; one after the other, since a deletion may follow at once. */
    #shown = Promise.resolve();
    /** The last change of the subscription; one after the other, as users come and go. */
    #subscribed = Promise.resolve();

    /** @param {Client} client */
    constructor(client) {
        this.client = client;
    }

    /** @returns {NotificationPermission | "unsupported"} */
    get permission() {
        return globalThis.Notification?.permission ?? "unsupported";
    }

    /** Whether to offer them: once, after the user's first message, when a reply is expected. */
    get isOffered() {
        return this.#hasSent && this.permission === "default" &&
            localStorage.getItem(answeredKey) === null;
    }

    /**
     * Notes which conversation is on screen, so that no other tab notifies of its messages.
     *
     * @param {string | undefined} conversation
     */
    setViewed(conversation) {
        this.#endView();
        if (conversation === undefined) return;
        /** @type {PromiseWithResolvers<void>} */
        const { promise, resolve } = Promise.withResolvers();
        this.#endView = resolve;
        navigator.locks.request(viewedName(conversation), { mode: "shared" }, () => promise);
    }

    noteSent() {
        this.#hasSent = true;
    }

    decline() {
        localStorage.setItem(answeredKey, "declined");
    }

    async accept() {
        localStorage.setItem(answeredKey, "accepted");
        if (await Notification.requestPermission() === "granted") await this.register();
    }

    /**
     * Subscribes to Web Push, where the browser and the cluster have it; an open page shows
     * notifications without it.
     */
    register() {
        this.#subscribed = this.#subscribed.then(() => this.#register());
        return this.#subscribed;
    }

    async #register() {
        if (this.permission !== "granted") return;
        try {
            const registration = await navigator.serviceWorker?.ready;
            const key = await this.client.pushKey();
            if (!key || !registration?.pushManager) return;
            const subscription = await subscribe(registration.pushManager, key);
            await this.client.enablePush(subscription);
        } catch (error) {
            console.warn("grapevine: no Web Push:", error);
        }
    }

    /** Ends the subscription: who signs in next in this browser is not told of these messages. */
    unregister() {
        this.#subscribed = this.#subscribed.then(() => this.#unregister());
    }

    async #unregister() {
        try {
            const registration = await navigator.serviceWorker?.getRegistration();
            const subscription = await registration?.pushManager?.getSubscription();
            await subscription?.unsubscribe();
            const shown = await registration?.getNotifications() ?? [];
            for (const notification of shown) notification.close();
        } catch (error) {
            console.warn("grapevine: Web Push goes on:", error);
        }
    }

    /**
     * Shows a notification of a message, or takes it back where the message was deleted.
     *
     * @param {Extract<Change, {kind: "notify"}>} change
     * @param {Promise<string>} sender
     */
    show(change, sender) {
        if (this.permission !== "granted") return;
        this.#shown = this.#shown.then(() => this.#show(change, sender)).catch((error) => {
            console.warn("grapevine: no notification:", error);
        });
    }

    /**
     * @param {Extract<Change, {kind: "notify"}>} change
     * @param {Promise<string>} sender
     */
    async #show(change, sender) {
        const registration = await navigator.serviceWorker?.getRegistration();
        if (!registration) return;
        if (change.withdrawn) {
            const shown = await registration.getNotifications({ tag: change.message });
            return shown.forEach((notification) => notification.close());
        }
        const { held } = await navigator.locks.query();
        if (held?.some(({ name }) => name === viewedName(change.conversation))) return;
        await registration.showNotification(await sender || texts.notifications.newMessage, {
            body: change.text,
            tag: change.message,
            icon: "/icon.svg",
            data: { address: `/${chatAddress(change.conversation)}` },
        });
    }

    /**
     * Shows the number of unread messages in the page's title and at the icon of the app.
     *
     * @param {number} unread
     */
    showUnread(unread) {
        const title = unread > 0 ? texts.chats.total(formatBadge(unread)) : texts.app;
        if (document.title !== title) document.title = title;
        navigator.setAppBadge?.(unread).catch(() => {});
    }
}

/**
 * Subscribes to the pushes of the cluster; a subscription for another key, which the cluster had
 * before, is renewed: its pushes are refused.
 *
 * @param {PushManager} manager
 * @param {string} key in base64url
 */
async function subscribe(manager, key) {
    const former = await manager.getSubscription();
    const bytes = former?.options.applicationServerKey;
    if (former && bytes && base64url(bytes) !== key) await former.unsubscribe();
    return manager.subscribe({ userVisibleOnly: true, applicationServerKey: key });
}

/** @param {ArrayBuffer} bytes */
function base64url(bytes) {
    return btoa(String.fromCharCode(...new Uint8Array(bytes)))
        .replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
