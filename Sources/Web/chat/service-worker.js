/**
 * The service worker: it caches the chat page's files for offline starts, and shows notifications
 * that nodes push.
 *
 * @typedef {{waitUntil: (work: Promise<unknown>) => void}} LastingEvent
 * @typedef {LastingEvent & {request: Request, respondWith: (answer: Promise<Response>) => void}}
 *   RequestEvent
 * @typedef {LastingEvent & {data: {json: () => any} | null}} PushEvent
 * @typedef {LastingEvent & {notification: Notification}} ClickEvent
 */

const cacheName = "grapevine-shell";
/** Milliseconds to wait for the node's response before a cached file is used. */
const answerMilliseconds = 3000;

/**
 * The files that are cached when the service worker is installed: the chat page, the list of node
 * addresses, the manifest and the icon. With them, the page starts while the node that serves the
 * page is down. Modules and styles are cached when first requested.
 */
const pages = ["/", "/nodes.json", "/manifest.webmanifest", "/icon.svg"];
const folders = ["/chat/", "/client/"];

const worker = /** @type {any} */ (self);

/**
 * The promise of the last push handler. Pushes are handled one after the other, because a node may
 * withdraw a notification right after sending it. To close a notification, the handler must find it
 * in the browser's list, and a browser lists it only once it is shown.
 */
let handled = Promise.resolve();

worker.addEventListener("install", (/** @type {LastingEvent} */ event) => {
    event.waitUntil(keepPages().then(() => worker.skipWaiting()));
});

worker.addEventListener("activate", (/** @type {LastingEvent} */ event) => {
    event.waitUntil(worker.clients.claim().then(keepOpenPage));
});

worker.addEventListener("fetch", (/** @type {RequestEvent} */ event) => {
    const { request } = event;
    const url = new URL(request.url);
    if (request.method !== "GET" || url.origin !== worker.location.origin) return;
    if (pages.includes(url.pathname) || folders.some((each) => url.pathname.startsWith(each))) {
        event.respondWith(answer(request, url.pathname));
    }
});

worker.addEventListener("push", (/** @type {PushEvent} */ event) => {
    handled = handled.catch(() => {}).then(() => onPush(event.data?.json() ?? {}));
    event.waitUntil(handled);
});

worker.addEventListener("notificationclick", (/** @type {ClickEvent} */ event) => {
    event.notification.close();
    event.waitUntil(openAddress(event.notification.data?.address ?? "/"));
});

async function keepPages() {
    const cache = await caches.open(cacheName);
    await cache.addAll(pages);
}

/**
 * Asks each open chat page for the names of the files that it has loaded. The page answers with a
 * message, whose handler caches the files. Files that were loaded before this service worker ran
 * are thus cached, too, and one visit suffices for an offline start.
 */
async function keepOpenPage() {
    for (const client of await worker.clients.matchAll({ type: "window" })) {
        client.postMessage({ kind: "shell" });
    }
}

worker.addEventListener("message", (/** @type {any} */ event) => {
    const { kind, files } = event.data ?? {};
    if (kind !== "shell" || !Array.isArray(files)) return;
    const wanted = files.filter((file) => folders.some((each) => String(file).startsWith(each)));
    event.waitUntil(caches.open(cacheName).then((cache) => cache.addAll(wanted)));
});

/**
 * Returns the requested file from the node, so that the version of the page is that of the node.
 * If the node does not answer, returns the cached file.
 *
 * @param {Request} request
 * @param {string} path
 */
async function answer(request, path) {
    const cache = await caches.open(cacheName);
    try {
        const response = await fetch(request, { signal: AbortSignal.timeout(answerMilliseconds) });
        if (response.ok) await cache.put(path, response.clone());
        return response;
    } catch (error) {
        const kept = await cache.match(path);
        if (kept) return kept;
        throw error;
    }
}

/**
 * Shows or withdraws a pushed notification. Nodes push no notification of a message in the
 * conversation on screen, because each device reports that conversation to the nodes.
 *
 * @param {any} notification
 */
async function onPush(notification) {
    const { kind, conversation, message, fromName, text, badge } = notification;
    if (typeof badge === "number") await worker.navigator.setAppBadge?.(badge).catch(() => {});
    if (kind === "withdrawn") {
        const shown = await worker.registration.getNotifications({ tag: message });
        for (const each of shown) each.close();
        return;
    }
    await worker.registration.showNotification(fromName || "Grapevine", {
        body: text,
        tag: message,
        icon: "/icon.svg",
        data: { address: `/#/chat/${encodeURIComponent(conversation ?? "")}` },
    });
}

/**
 * Opens the address of a notification in an open browser window of this origin, or in a new
 * window if none is open.
 *
 * @param {string} address
 */
async function openAddress(address) {
    const [open] = await worker.clients.matchAll({ type: "window", includeUncontrolled: true });
    if (!open) return worker.clients.openWindow(address);
    await open.focus();
    await open.navigate(address);
}
