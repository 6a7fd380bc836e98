/**
 * The service worker: it keeps the files of the page for starts without a network, and shows
 * notifications that a node pushes.
 *
 * @typedef {{waitUntil: (work: Promise<unknown>) => void}} LastingEvent
 * @typedef {LastingEvent & {request: Request, respondWith: (answer: Promise<Response>) => void}}
 *   RequestEvent
 * @typedef {LastingEvent & {data: {json: () => any} | null}} PushEvent
 * @typedef {LastingEvent & {notification: Notification}} ClickEvent
 */

const cacheName = "grapevine-shell";
/** A node that has not answered by then is taken for gone, and the kept file is used. */
const answerMilliseconds = 3000;

/**
 * The page itself, and the addresses of the nodes, for starts while its own node is down. Modules
 * and styles are kept when they are first asked for.
 */
const pages = ["/", "/nodes.json", "/manifest.webmanifest", "/icon.svg"];
const folders = ["/chat/", "/client/"];

const worker = /** @type {any} */ (self);

/**
 * The last push that is handled; one after the other, since a withdrawal may follow at once, and
 * browsers forget notifications that are still being shown when all are listed.
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
 * Keeps what the open page has loaded before this worker ran, so that the first visit is enough for
 * a start without a network.
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
 * Answers from the node, so that a page is never older than the node; without it, from the cache.
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
 * Shows what a node pushes, or withdraws it. A message of the conversation that is on screen is not
 * pushed: the node knows which one each device views.
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
 * Shows an address in an open window, or in one of its own.
 *
 * @param {string} address
 */
async function openAddress(address) {
    const [open] = await worker.clients.matchAll({ type: "window", includeUncontrolled: true });
    if (!open) return worker.clients.openWindow(address);
    await open.focus();
    await open.navigate(address);
}
