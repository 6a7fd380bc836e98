/** @typedef {import("../../Sources/Web/client/types.js").Call} Call */
/** @typedef {import("../../Sources/Web/client/types.js").SocketEvents} SocketEvents */
/** @typedef {import("../../Sources/Web/client/types.js").Transport} Transport */
/** @typedef {{status: number, body: any, token?: string, retryAfterSeconds?: number}} Answer */
/**
 * A write that is held until the scenario answers it, unless the client waits no more.
 *
 * @typedef {{call: Call, settle: (answer: Answer | undefined) => void, isGone: () => boolean}} Held
 */

/** Milliseconds that a request or an answer is under way. */
const DELAY_MILLISECONDS = 5;

/**
 * The nodes of a scenario: they answer reads by what they have, hold the user's writes until the
 * scenario answers them, and tell the events that it names.
 */
export class ScriptedNodes {
    /** What reads are answered with, by the names of `world.json`. @type {Record<string, any>} */
    world;
    isUp = true;
    /** Whether no node has what the tokens of requests stand for. */
    lags = false;
    /** Whether streams do not resume: their tokens are refused. */
    refusesTokens = false;
    /** @type {Held[]} */
    #writes = [];
    /** The reads since they were last checked. @type {string[]} */
    reads = [];
    /** The marks and typing that the client has told, since they were last checked. @type {string[]} */
    told = [];
    /** The stamps of writes that have had no answer, by what they ask for. @type {Map<string, string>} */
    #unanswered = new Map();
    /** What the client did wrong. @type {string[]} */
    violations = [];
    #tokens = 1;
    #sockets = new Set(/** @type {ScriptedSocket[]} */ ([]));

    /** @param {import("./clock.js").VirtualClock} clock @param {Record<string, any>} world */
    constructor(clock, world) {
        this.clock = clock;
        this.world = structuredClone(world);
    }

    /** The writes for whose answers the client waits. */
    get held() {
        return this.#writes = this.#writes.filter(({ isGone }) => !isGone());
    }

    get token() {
        return `k${this.#tokens}`;
    }

    get now() {
        return exact(this.clock.now());
    }

    /** The network of one client. @returns {Transport} */
    get transport() {
        return {
            fetch: (_, call, milliseconds) => this.#fetch(call, milliseconds),
            open: (_node, _token, _since, events) => {
                const socket = new ScriptedSocket(this, events);
                this.#sockets.add(socket);
                const close = () => {
                    socket.isClosed = true;
                    this.#sockets.delete(socket);
                };
                return { send: (text) => socket.receive(text), close };
            },
        };
    }

    /** The events that streams have told or missed. @type {{number: number, event: any}[]} */
    #events = [];

    /** The events after a token. @param {string} token */
    missed(token) {
        const last = Number(token.slice(1));
        return this.#events.filter(({ number }) => number > last).map(({ event }) => event);
    }

    /** Tells an event to the client. @param {any} event */
    tell(event) {
        this.#tokens += 1;
        const told = { ...event, token: this.token };
        if (event.kind !== "typing") this.#events.push({ number: this.#tokens, event: told });
        for (const socket of this.#sockets) if (socket.isWatching) socket.send({ event: told });
    }

    /** Ends all connections of the client; what is under way has no answer. */
    cut() {
        for (const { settle } of this.held) settle(undefined);
        this.#writes = [];
        for (const socket of [...this.#sockets]) socket.cut();
    }

    /**
     * @param {Call} call
     * @param {(answer: Answer | undefined) => void} settle called with undefined for no answer
     * @param {() => boolean} isGone
     */
    take(call, settle, isGone) {
        const [method, path] = [call.method, call.path.replace(/[?&]times=exact/, "")];
        if (path === "/v1/accounts") return settle(signIn("1"));
        if (path === "/v1/sessions/refresh") return settle(signIn("2"));
        if (method === "GET") return settle(this.#read(path, call.token));
        const part = path.slice("/v1/".length);
        const body = /** @type {any} */ (call.body);
        if (part.includes("/marks/")) {
            this.told.push(`${part.split("/").at(-1)} ${body.message}`);
        } else if (part.endsWith("/typing")) {
            this.told.push(body.on ? "typing" : "not typing");
        } else if (!part.startsWith("devices")) {
            return this.#hold({ ...call, path: part }, settle, isGone);
        }
        settle({ status: 200, body: { at: this.now } });
    }

    /**
     * @param {Call} call @param {(answer: Answer | undefined) => void} settle
     * @param {() => boolean} isGone
     */
    #hold(call, settle, isGone) {
        const { body, method, operation = "", path } = call;
        const { id = "", ...rest } = /** @type {any} */ (body ?? {});
        const [asked, name] = [JSON.stringify([method, path, rest]), `${operation} ${id}`];
        const known = this.#unanswered.get(asked) ?? name;
        if (known !== name) this.violations.push(`${asked} is ${name}, and was ${known}`);
        this.#unanswered.set(asked, name);
        const answered = (/** @type {Answer | undefined} */ answer) => {
            if (answer && finals.has(answer.status)) this.#unanswered.delete(asked);
            settle(answer);
        };
        this.#writes.push({ call, settle: answered, isGone });
    }

    /** Answers the first write that is held, or loses its answer. @param {Answer} [answer] */
    answerFirst(answer) {
        const [first, ...rest] = this.held;
        this.#writes = rest;
        if (answer) first.settle(answer);
    }

    /** @param {string} path @param {string} [token] @returns {Answer} */
    #read(path, token) {
        if (token && this.lags) return error(503, "This node has not seen that yet");
        const { pathname, searchParams } = new URL(path, "http://n");
        const body = answerOf(this.world, pathname.split("/").slice(2), searchParams);
        const isOfChats = /^\/v1\/(chats|items|conversations)/.test(pathname);
        if (isOfChats && !pathname.endsWith("/changes")) this.reads.push(path.slice("/v1/".length));
        return body ? { status: 200, body, token: this.token } : error(404, "Not found");
    }

    /** @param {Call} call @param {number} milliseconds @returns {Promise<Answer>} */
    #fetch(call, milliseconds) {
        return new Promise((resolve, reject) => {
            let isOver = false;
            this.clock.setTimer(milliseconds, () => {
                isOver = true;
                reject(new Error("timeout"));
            });
            this.clock.setTimer(DELAY_MILLISECONDS, () => {
                const settle = (/** @type {Answer | undefined} */ answer) =>
                    this.clock.setTimer(DELAY_MILLISECONDS, () => {
                        if (!this.isUp) return;
                        if (answer) resolve(answer);
                        else reject(new Error("cut"));
                    });
                if (this.isUp) this.take(call, settle, () => isOver);
            });
        });
    }
}

/** The answers after which a write is over, or takes another stamp. */
const finals = new Set([200, 400, 403, 404, 405, 408, 409, 413]);

/** @param {string} number @returns {Answer} */
function signIn(number) {
    const [accessToken, refreshToken] = [`access${number}`, `refresh${number}`];
    const body = { user: "u-alice", accessToken, refreshToken, expiresIn: 86_400 };
    return { status: 200, body };
}

/** @param {number} code @param {string} message @param {string} [reason] @returns {Answer} */
export function error(code, message, reason = "") {
    return { status: code, body: { error: { code, message, reason } } };
}

/** Returns a time with nine digits after the second. @param {number} milliseconds */
export function exact(milliseconds) {
    return new Date(milliseconds).toISOString().replace("Z", "000000Z");
}

/**
 * Returns the body of the answer to a read; undefined if what it asks for is not there.
 *
 * @param {Record<string, any>} world @param {string[]} path @param {URLSearchParams} query
 */
function answerOf(world, [resource, id, part, name], query) {
    const { chats, items, marks, messages, profiles } = world;
    if (resource === "account") return { user: "u-alice" };
    if (resource === "items") return { items };
    if (resource === "profiles") return { profiles };
    if (resource === "chats") {
        const chat = chats.find((/** @type {any} */ row) => row.id === id);
        return id === undefined
            ? { chats: chats.filter((/** @type {any} */ row) => !row.hidden) }
            : chat;
    }
    if (resource !== "conversations") return {};
    const all = messages[id] ?? [];
    if (part === "marks") return { marks: marks[id] ?? [] };
    if (part === "changes") return { changes: [] };
    if (part === "pins") {
        return { messages: all.filter((/** @type {any} */ message) => message.pinnedBy) };
    }
    if (name) return all.find((/** @type {any} */ message) => message.id === name);
    const before = query.get("before");
    const end = before
        ? all.findIndex((/** @type {any} */ message) => message.id === before)
        : all.length;
    return { messages: all.slice(0, end).slice(-Number(query.get("limit"))) };
}

/** A WebSocket between the client and a node. */
class ScriptedSocket {
    isClosed = false;
    isWatching = false;

    /** @param {ScriptedNodes} nodes @param {SocketEvents} events */
    constructor(nodes, events) {
        this.nodes = nodes;
        this.events = events;
        nodes.clock.setTimer(DELAY_MILLISECONDS, () => {
            if (!this.isClosed && nodes.isUp) events.onOpen();
        });
    }

    cut() {
        if (!this.isClosed) this.nodes.clock.setTimer(1, () => this.events.onClose(1006));
    }

    /** @param {string} text a request of the client */
    receive(text) {
        const { id, ...call } = JSON.parse(text);
        this.nodes.clock.setTimer(DELAY_MILLISECONDS, () => {
            if (!this.nodes.isUp) return;
            if (call.path.startsWith("/v1/events")) return this.#watch(id, call.path);
            const settle = (/** @type {Answer | undefined} */ answer) =>
                answer && this.send({ id, ...answer });
            this.nodes.take(call, settle, () => this.isClosed);
        });
    }

    /** @param {number} id @param {string} path */
    #watch(id, path) {
        const { nodes } = this;
        const since = new URL(path, "http://n").searchParams.get("since");
        if (since && nodes.refusesTokens) return this.send({ id, ...error(400, "No such token") });
        const body = { token: since ?? nodes.token, editWindow: 900_000, now: nodes.now };
        this.send({ id, status: 200, body });
        this.isWatching = true;
        for (const event of since ? nodes.missed(since) : []) this.send({ event });
        this.send({ event: { kind: "level", at: nodes.now } });
        this.#beat();
    }

    #beat() {
        this.nodes.clock.setTimer(5_000, () => {
            if (this.isClosed) return;
            this.send({ event: { kind: "heartbeat", at: this.nodes.now } });
            this.#beat();
        });
    }

    /** @param {unknown} message */
    send(message) {
        this.nodes.clock.setTimer(DELAY_MILLISECONDS, () => {
            if (!this.isClosed && this.nodes.isUp) this.events.onText(JSON.stringify(message));
        });
    }
}
