/** @typedef {import("../types.js").Transport} Transport */
/** @typedef {import("../types.js").Call} Call */

/** The browser's clock and timers. @type {import("../types.js").Clock} */
export const systemClock = {
    now: () => Date.now(),
    elapsed: () => performance.now(),
    setTimer: (milliseconds, action) => {
        const timer = setTimeout(action, milliseconds);
        return () => clearTimeout(timer);
    },
};

/** Returns a cryptographically random number in [0, 1), for unguessable ids. */
export function systemRandom() {
    return crypto.getRandomValues(new Uint32Array(1))[0] / 2 ** 32;
}

/** The browser's `localStorage` as a synchronous store. @type {import("../types.js").SyncStore} */
export const browserSyncStore = {
    keys: () => Array.from(localStorage, (_, index) => localStorage.key(index) ?? ""),
    get: (key) => localStorage.getItem(key) ?? undefined,
    set: (key, text) => localStorage.setItem(key, text),
    delete: (key) => localStorage.removeItem(key),
};

/** The client's network interface by the browser's `fetch` and `WebSocket`. @type {Transport} */
export const browserTransport = {
    async fetch(node, call, milliseconds) {
        const response = await fetch(node + call.path, {
            method: call.method,
            headers: headers(call),
            body: call.blob ?? (call.body === undefined ? undefined : JSON.stringify(call.body)),
            // Headers carry the tokens, so no cookies are sent; only files may be cached.
            credentials: "omit",
            cache: call.wantsBlob ? "default" : "no-store",
            signal: AbortSignal.timeout(milliseconds),
        });
        const retryAfter = response.headers.get("Retry-After");
        const isBlob = call.wantsBlob && response.ok;
        return {
            status: response.status,
            body: isBlob ? undefined : await response.json(),
            blob: isBlob ? await response.blob() : undefined,
            retryAfterSeconds: retryAfter === null ? undefined : Number(retryAfter),
            token: response.headers.get("Grapevine-Token") ?? undefined,
        };
    },

    open(node, accessToken, since, events) {
        const query = since === undefined ? "" : `?since=${encodeURIComponent(since)}`;
        const address = `${node.replace(/^http/, "ws")}/v1/socket${query}`;
        // A page cannot set headers of a WebSocket, so the access token is sent as a subprotocol.
        const socket = new WebSocket(address, ["grapevine.v1", `bearer.${accessToken}`]);
        socket.onopen = () => events.onOpen();
        socket.onmessage = (event) => events.onText(String(event.data));
        socket.onclose = (event) => events.onClose(event.code);
        return {
            send: (text) => socket.send(text),
            close: () => {
                socket.onopen = socket.onmessage = socket.onclose = null;
                socket.close();
            },
        };
    },

    onNetworkChange(action) {
        const [up, down] = [() => action(true), () => action(false)];
        globalThis.addEventListener?.("online", up);
        globalThis.addEventListener?.("offline", down);
        return () => {
            globalThis.removeEventListener?.("online", up);
            globalThis.removeEventListener?.("offline", down);
        };
    },
};

/** @param {Call} call */
function headers(call) {
    const headers = new Headers();
    if (call.accessToken) headers.set("Authorization", `Bearer ${call.accessToken}`);
    if (call.token) headers.set("Grapevine-Token", call.token);
    if (call.operation) headers.set("Grapevine-Operation", call.operation);
    if (call.body !== undefined) headers.set("Content-Type", "application/json");
    return headers;
}
