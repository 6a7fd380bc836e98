import { eventOf, ModelNode, replay } from "./model.js";

/** @typedef {import("../../Sources/Web/client/types.js").Call} Call */
/** @typedef {import("../../Sources/Web/client/types.js").Transport} Transport */
/** @typedef {import("../../Sources/Web/client/types.js").SocketEvents} SocketEvents */
/** @typedef {{status: number, body: any, token?: string}} ModelAnswer */

/** Seconds that an access token lives, fewer than in reality, so that many are renewed. */
const TOKEN_SECONDS = 120;

/** A cluster in memory, whose network delays, loses and repeats as a seed says. */
export class ModelCluster {
    /** @type {ModelNode[]} */
    nodes;
    /** Users by address. @type {Map<string, string>} */
    #accounts = new Map();
    /** @type {Map<string, {user: string, until: number, signIn: string}>} */
    #accessTokens = new Map();
    /** @type {Map<string, {user: string, signIn: string, usedBy?: string, next?: any}>} */
    #refreshTokens = new Map();
    #ended = new Set();
    #number = 0;
    /** The parts of the network that hurt; a test ends with none. */
    isCalm = false;
    /** Whether streams do not resume: their tokens are refused. */
    refusesTokens = false;
    /** Renewals that ended a sign-in. */
    stolen = 0;
    /** What each operation of each device asks for, by device and number. @type {Map<string, string>} */
    operations = new Map();
    /** What clients did wrong with the identities of their operations. @type {string[]} */
    misnamed = [];

    /**
     * @param {import("./clock.js").VirtualClock} clock
     * @param {() => number} random
     */
    constructor(clock, random, count = 3) {
        this.clock = clock;
        this.random = random;
        this.nodes = Array.from({ length: count }, (_, index) => new ModelNode(index, count));
    }

    get addresses() {
        return this.nodes.map((_, index) => `http://n${index}`);
    }

    /**
     * @param {string} title
     * @param {string[]} users
     */
    create(title, users) {
        const fields = {
            kind: "create",
            by: users[0],
            conversation: title,
            title,
            user: users.join(","),
        };
        const change = this.nodes[0].accept(fields, this.clock.now());
        for (const node of this.nodes.slice(1)) node.receive(change);
    }

    /** @param {number} index */
    kill(index) {
        this.nodes[index].isUp = false;
        for (const socket of [...this.#sockets]) if (socket.node.index === index) socket.cut(1006);
    }

    /** @param {number} index */
    start(index) {
        this.nodes[index].isUp = true;
    }

    /**
     * Has a node stand still: what arrives waits, and is carried out when it goes on.
     *
     * @param {number} index
     */
    stop(index) {
        this.nodes[index].waiting = [];
    }

    /** @param {number} index */
    goOn(index) {
        const waiting = this.nodes[index].waiting ?? [];
        this.nodes[index].waiting = undefined;
        for (const carryOut of waiting) carryOut();
    }

    /** Has each node fetch some of what it lacks. */
    replicate() {
        for (const node of this.nodes) {
            const from = this.nodes[Math.floor(this.random() * this.nodes.length)];
            if (!node.isUp || !from.isUp) continue;
            for (const change of [...from.log]) node.receive(change);
        }
    }

    /** @type {Set<ModelSocket>} */
    #sockets = new Set();

    /**
     * The network of one client.
     *
     * @param {{isUp: boolean}} line
     * @returns {Transport}
     */
    transport(line) {
        return {
            fetch: (node, call, milliseconds) => this.#fetch(line, node, call, milliseconds),
            open: (node, accessToken, _, events) => {
                const socket = new ModelSocket(this, line, this.#node(node), accessToken, events);
                this.#sockets.add(socket);
                return {
                    send: (text) => socket.receive(text),
                    close: () => {
                        socket.close();
                        this.#sockets.delete(socket);
                    },
                };
            },
        };
    }

    /** @param {string} accessToken */
    user(accessToken) {
        const token = this.#accessTokens.get(accessToken);
        const isOver = !token || token.until < this.clock.now() || this.#ended.has(token.signIn);
        return isOver ? undefined : token.user;
    }

    /** Milliseconds that something is under way. */
    delay() {
        if (this.isCalm) return 5;
        const dice = this.random();
        if (dice < 0.02) return 30_000;
        return dice < 0.15 ? 200 + this.random() * 2_500 : 2 + this.random() * 60;
    }

    /** @param {string} address */
    #node(address) {
        return this.nodes[Number(address.slice("http://n".length))];
    }

    /**
     * @param {{isUp: boolean}} line
     * @param {string} address
     * @param {Call} call
     * @param {number} milliseconds
     * @returns {Promise<ModelAnswer>}
     */
    #fetch(line, address, call, milliseconds) {
        const node = this.#node(address);
        return new Promise((resolve, reject) => {
            this.clock.setTimer(milliseconds, () => reject(new Error("timeout")));
            if (!line.isUp || !node.isUp) return reject(new Error("refused"));
            this.clock.setTimer(this.delay(), () => {
                if (!line.isUp || !node.isUp) return reject(new Error("cut"));
                const answer = this.#answerHTTP(node, call);
                // It is carried out, and its answer is lost.
                if (!this.isCalm && this.random() < 0.15) return;
                this.clock.setTimer(this.delay(), () => line.isUp ? resolve(answer) : undefined);
            });
        });
    }

    /**
     * @param {ModelNode} node
     * @param {Call} call
     * @returns {ModelAnswer}
     */
    #answerHTTP(node, call) {
        const body = /** @type {any} */ (call.body);
        if (call.path === "/v1/accounts") {
            const user = `u-${body.email.split("@")[0]}`;
            this.#accounts.set(body.email, user);
            return { status: 200, body: this.#tokens(user, `s${this.#number += 1}`) };
        }
        if (call.path === "/v1/sessions/refresh") return this.#refresh(body);
        const user = this.user(call.accessToken ?? "");
        if (!user) return error(401, "The access token is not valid");
        /** @type {number[][]} */
        const tokens = (call.token ?? "").split(", ").filter(Boolean).map((text) =>
            JSON.parse(text)
        );
        if (tokens.some((token) => token.some((count, index) => count > node.vector[index]))) {
            return error(503, "This node has not seen that yet");
        }
        if (call.path === "/v1/account") return { status: 200, body: { user } };
        const { body: asked, method, operation, path } = call;
        const answer = this.answer(node, user, method, path, asked, operation);
        const vector = node.vector.map((count, index) =>
            Math.max(count, ...tokens.map((token) => token[index] ?? 0))
        );
        return { ...answer, token: JSON.stringify(vector) };
    }

    /** @param {{refreshToken: string, id: string}} body */
    #refresh({ id, refreshToken }) {
        const token = this.#refreshTokens.get(refreshToken);
        if (!token || this.#ended.has(token.signIn)) return error(401, "Signed out");
        if (token.usedBy !== undefined && token.usedBy !== id) {
            this.#ended.add(token.signIn);
            this.stolen += 1;
            return error(401, "The refresh token was used before; the sign-in has ended");
        }
        token.usedBy = id;
        token.next ??= this.#tokens(token.user, token.signIn);
        return { status: 200, body: token.next };
    }

    /**
     * @param {string} user
     * @param {string} signIn
     */
    #tokens(user, signIn) {
        const number = this.#number += 1;
        const [accessToken, refreshToken] = [`access${number}`, `refresh${number}`];
        const until = this.clock.now() + TOKEN_SECONDS * 1000;
        this.#accessTokens.set(accessToken, { user, until, signIn });
        this.#refreshTokens.set(refreshToken, { user, signIn });
        return { user, accessToken, refreshToken, expiresIn: TOKEN_SECONDS };
    }

    /**
     * Answers a request by what one node has.
     *
     * @param {ModelNode} node
     * @param {string} user
     * @param {string} method
     * @param {string} path
     * @param {any} body
     * @param {string} [operation] the identity and the time of a write
     * @returns {ModelAnswer}
     */
    answer(node, user, method, path, body, operation) {
        const { pathname, searchParams } = new URL(path, "http://n");
        const [, , resource, name, part, id, verb] = pathname.split("/");
        if (resource === "chats" && method === "DELETE") {
            this.#noteOperation(operation, "hide");
            const done = node.log.find((change) => operation && change.operation === operation);
            const fields = { kind: "hide", by: user, conversation: name, operation };
            const { at } = done ?? node.accept(fields, this.clock.now());
            return { status: 200, body: { at } };
        }
        if (resource === "chats") {
            const chats = node.chats(user);
            const listed = chats.filter(({ hidden }) => !hidden);
            if (name === undefined) return { status: 200, body: { chats: listed } };
            return { status: 200, body: chats.find((chat) => chat.id === name) };
        }
        if (resource === "items") return { status: 200, body: { items: [] } };
        if (resource === "profiles") return { status: 200, body: { profiles: [] } };
        if (resource === "token") return { status: 200, body: { token: "" } };
        if (resource !== "conversations") return error(404, "No such path");
        if (part === "marks") return { status: 200, body: { marks: [], unread: 0 } };
        if (part === "changes") return { status: 200, body: { changes: [] } };
        const all = node.messages(name, user);
        const shown = all.filter(({ isHidden }) => !isHidden);
        const clean = (/** @type {any[]} */ list) =>
            list.map(({ isCleared: _cleared, isHidden: _hidden, ...rest }) => rest);
        if (part === "pins" && method === "GET") {
            return { status: 200, body: { messages: clean(shown.filter((m) => m.pinnedBy)) } };
        }
        if (part === "messages" && method === "GET") {
            const before = searchParams.get("before");
            const limit = Number(searchParams.get("limit"));
            const end = before ? all.findIndex((message) => message.id === before) : all.length;
            if (end < 0) return error(503, "Not here yet");
            const list = all.slice(0, end).filter(({ isHidden }) => !isHidden).slice(-limit);
            return { status: 200, body: { messages: clean(list) } };
        }
        const known = all.find((message) => message.id === (id ?? body?.id));
        const kind = kindOf(method, part, verb, searchParams.get("for"));
        if (kind !== "message") this.#noteOperation(operation, JSON.stringify([kind, id, body]));
        // What is recorded is answered as the first time, before any rule.
        const done = node.log.find((change) => operation && change.operation === operation);
        if (done) return { status: 200, body: { id: done.id, at: done.at } };
        if (kind === "message" && known) return { status: 200, body: { at: known.at } };
        if (kind !== "message" && !known) return error(404, "Message not found");
        if (!this.isCalm && this.random() < 0.03) return error(503, "Not now");
        if (kind === "pin" && known.id.charCodeAt(0) % 3 === 0) return error(409, "Not this one");
        const text = body?.text;
        const fields = { kind, by: user, conversation: name, id: id ?? body.id, text, operation };
        const change = node.accept(fields, this.clock.now());
        return { status: 200, body: { id: change.id, at: change.at } };
    }

    /**
     * Notes an operation that has no name, or a name that was given to another one.
     *
     * @param {string | undefined} operation
     * @param {string} asked
     */
    #noteOperation(operation, asked) {
        if (!operation) {
            this.misnamed.push(`${asked} has no stamp`);
            return;
        }
        const name = operation.slice(0, -31);
        const told = `${operation} ${asked}`;
        const known = this.operations.get(name) ?? told;
        if (known !== told) this.misnamed.push(`${told} was ${known}`);
        this.operations.set(name, told);
    }

    /** Operations of one device whose times do not follow their numbers. */
    get disordered() {
        const all = [...this.operations.values()].map((told) => {
            const [, device, number, time] = /^(.*)\.(\d+)\.(\S{30}) /.exec(told) ?? [];
            return { device, number: Number(number), time };
        });
        all.sort((a, b) => a.number - b.number);
        return all.filter((one, index) => {
            const before = all.slice(0, index).findLast(({ device }) => device === one.device);
            return before !== undefined && before.time >= one.time;
        });
    }
}

/**
 * @param {string} method
 * @param {string} part
 * @param {string | undefined} verb
 * @param {string | null} scope
 */
function kindOf(method, part, verb, scope) {
    if (part === "pins") return method === "PUT" ? "pin" : "unpin";
    if (verb === "restore") return "restore";
    if (method === "POST") return "message";
    if (method === "PATCH") return "edit";
    return scope === "everyone" ? "retract" : "delete";
}

/**
 * @param {number} code
 * @param {string} message
 */
function error(code, message) {
    return { status: code, body: { error: { code, message } } };
}

/** A WebSocket between a client and a node of the model. */
class ModelSocket {
    #isOpen = false;
    #isClosed = false;
    #isDead = false;
    #user = "";
    /** What has been told. @type {number[]} */
    #told = [];
    #stopWatching = () => {};
    /** When the last event arrives: events overtake answers, and not each other. */
    #eventAt = 0;

    /**
     * @param {ModelCluster} cluster
     * @param {{isUp: boolean}} line
     * @param {ModelNode} node
     * @param {string} accessToken
     * @param {SocketEvents} events
     */
    constructor(cluster, line, node, accessToken, events) {
        Object.assign(this, { cluster, line, events });
        this.cluster = cluster;
        this.line = line;
        this.node = node;
        this.events = events;
        cluster.clock.setTimer(cluster.delay(), () => {
            // A network that is gone says nothing.
            if (this.#isClosed || !line.isUp) return;
            const user = cluster.user(accessToken);
            if (!node.isUp || !user) return this.cut(1006);
            this.#user = user;
            this.#isOpen = true;
            events.onOpen();
        });
    }

    /** @param {number} code */
    cut(code) {
        if (this.#isClosed) return;
        this.close();
        if (this.line.isUp) this.cluster.clock.setTimer(1, () => this.events.onClose(code));
    }

    close() {
        this.#isClosed = true;
        this.#stopWatching();
    }

    /** @param {string} text a request of the client */
    receive(text) {
        const { cluster, line, node } = this;
        const carryOut = () => {
            if (node.waiting) return node.waiting.push(carryOut);
            // What arrives at a node is carried out, whether the client still listens or not.
            if (!line.isUp) this.#isDead = true;
            if (!this.#isOpen || this.#isDead || !node.isUp) return;
            const { body, id, method, operation, path } = JSON.parse(text);
            const answer = path.startsWith("/v1/events")
                ? this.#watch(path)
                : cluster.answer(node, this.#user, method, path, body, operation);
            if (!cluster.isCalm && cluster.random() < 0.02) return this.cut(1006);
            cluster.clock.setTimer(cluster.delay(), () => this.#send({ id, ...answer }));
        };
        cluster.clock.setTimer(cluster.delay() / 2, carryOut);
    }

    /** @param {string} path */
    #watch(path) {
        const { node } = this;
        const since = new URL(path, "http://n").searchParams.get("since");
        if (since && this.cluster.refusesTokens) return error(400, "The token is not valid");
        // What the client was told elsewhere and this node lacks, it tells again when it has it.
        this.#told = [...node.vector];
        if (since) {
            const known = JSON.parse(since);
            this.#told = node.vector.map((count, index) => Math.min(count, known[index]));
            for (const event of replay(node, this.#told, this.#user)) this.#tell(event);
            this.#told = [...node.vector];
        }
        const watcher = (/** @type {import("./model.js").ChangeOfModel} */ change) => {
            const isTold = change.number <= this.#told[change.node];
            if (!isTold) this.#told[change.node] = change.number;
            const event = eventOf(node, change, this.#user);
            if (event && !isTold && !node.isAgain(change)) this.#tell(event);
        };
        node.watchers.add(watcher);
        this.#stopWatching = () => node.watchers.delete(watcher);
        const now = new Date(this.cluster.clock.now()).toISOString();
        const token = since ?? JSON.stringify(this.#told);
        this.#beat();
        return { status: 200, body: { token, editWindow: 900_000, now } };
    }

    /** Sends a heartbeat every five seconds. */
    #beat() {
        this.cluster.clock.setTimer(5_000, () => {
            if (this.#isClosed) return;
            const at = new Date(this.cluster.clock.now()).toISOString();
            if (!this.node.waiting) this.#send({ event: { kind: "heartbeat", at } });
            this.#beat();
        });
    }

    /** @param {any} event */
    #tell(event) {
        const { clock } = this.cluster;
        this.#eventAt = Math.max(this.#eventAt, clock.now() + Math.min(this.cluster.delay(), 500));
        const token = JSON.stringify(this.#told);
        const told = () => this.#send({ event: { ...event, token } });
        clock.setTimer(this.#eventAt - clock.now(), told);
        if (!this.cluster.isCalm && this.cluster.random() < 0.05) {
            clock.setTimer(this.#eventAt - clock.now(), told);
        }
    }

    /** @param {unknown} message */
    #send(message) {
        // After a gap nothing more arrives: a stream has none.
        if (!this.line.isUp) this.#isDead = true;
        if (this.#isClosed || this.#isDead || !this.node.isUp) return;
        this.events.onText(JSON.stringify(message));
    }
}
