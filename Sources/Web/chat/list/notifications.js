import { formatBadge } from "../parts/formats.js";
import { chatAddress } from "../route.js";
import { texts } from "../texts.js";

/**
 * @typedef {import("../../client/client.js").Client} Client
 * @typedef {import("../../client/types.js").Change} Change
 */

/**
 * The `localStorage` key of the user's choice in the offer to turn on notifications. The offer is
 * not shown after the user has chosen.
 */
const answeredKey = "grapevine.notifications";
/** Returns the name of the Web Lock that a tab holds while it shows a conversation. */
const viewedName = (/** @type {string} */ conversation) => `grapevine.viewed ${conversation}`;

/**
 * The page's notifications: the permission, the Web Push subscription, and notifications shown by
 * an open page.
 *
 * The browser's permission is requested only when the user presses a button that explains it.
 */
export class Notifications {
    #hasSent = false;
    /** Releases the Web Lock of the conversation that this tab shows. */
    #endView = () => {};
    /**
     * The promise that resolves when the last requested notification is shown or closed.
     * Notifications are changed one at a time, since a message may be deleted right after its
     * arrival.
     */
    #shown = Promise.resolve();
    /** The promise of the last change of the push subscription; changes run one after the other. */
    #subscribed = Promise.resolve();

    /** @param {Client} client */
    constructor(client) {
        this.client = client;
    }

    /** @returns {NotificationPermission | "unsupported"} */
    get permission() {
        return globalThis.Notification?.permission ?? "unsupported";
    }

    /**
     * Whether to offer to turn on notifications: if the user has sent a message since the page was
     * opened, has not yet accepted or declined the offer in this browser, and has not decided on
     * the browser's permission.
     */
    get isOffered() {
        return this.#hasSent && this.permission === "default" &&
            localStorage.getItem(answeredKey) === null;
    }

    /**
     * Acquires the lock of the conversation on screen, so that no browser tab shows notifications
     * of the conversation's messages.
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
     * Subscribes to Web Push if the browser and the cluster support it; without Web Push, only an
     * open page shows notifications.
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

    /**
     * Ends the push subscription and closes the notifications on screen, so that the next user of
     * this browser does not see them.
     */
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
     * Shows a notification of a message, or closes it if the message was deleted.
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
     * Shows the number of unread messages in the page title and as the app's badge.
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
 * Subscribes to Web Push with the cluster's key. A subscription with an earlier key of the cluster
 * is replaced, since push services reject pushes for it.
 *
 * @param {PushManager} manager
 * @param {string} key the key in base64url
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
