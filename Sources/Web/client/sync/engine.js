import { Account } from "../network/account.js";
import { Calls } from "../network/calls.js";
import { Changes } from "./changes.js";
import { Connection } from "../network/connection.js";
import { Delivery } from "../outbox/delivery.js";
import { Device } from "./device.js";
import { Feed } from "./feed.js";
import { Files } from "./files.js";
import { Loader } from "./loader.js";
import { Marks } from "./marks.js";
import { NodeList } from "../network/nodes.js";
import { NodeTime } from "../network/node-time.js";
import { Notices } from "./notices.js";
import { Outbox } from "../outbox/outbox.js";
import { Persistence } from "../store/persistence.js";
import { Push } from "./push.js";
import { Screen } from "./screen.js";
import { Session } from "../network/session.js";
import { Stamps } from "../outbox/stamps.js";
import { Typing } from "./typing.js";
import { Views } from "../views/views.js";

/**
 * @typedef {Awaited<ReturnType<typeof import("../store/parts.js").completeOptions>>
 *   } CompleteOptions
 */

/** The most attempts before a stale response is accepted; a node may wait 1 s in each attempt. */
const SINCE_TRIES = 2;

/**
 * The parts of the chat client and the connections between them. The feed applies the cluster's
 * events to the confirmed state (the data that nodes have reported). The user's operations stay in
 * the outbox until a node has accepted them; then their consequences are merged into the confirmed
 * state. The views lay pending operations over the confirmed state, and `Changes` notifies the
 * listeners.
 */
export class Engine {
    #options;
    #stamps;
    #isClosed = false;
    #stopListening;

    /** @param {CompleteOptions} options */
    constructor(options) {
        this.#options = options;
        const { clock, makeID, store, tabs, transport } = options;
        this.clock = clock;
        this.makeID = makeID;
        this.store = store;
        this.tabs = tabs;
        this.nodeTime = new NodeTime(clock);
        this.#stamps = new Stamps({ ...options, nodeTime: this.nodeTime });
        this.nodes = new NodeList(options.nodes);
        const calls = this.calls = new Calls(this.nodes, transport, clock);
        /** @type {Session} */
        this.session = new Session({
            ...options,
            calls,
            onEnd: (reason) => this.device.onSessionEnd(reason),
        });
        this.account = new Account(this);
        this.connection = this.#makeConnection();
        this.changes = new Changes((change) => !this.#isClosed && this.views.isNews(change));
        this.files = new Files(this);
        this.persistence = new Persistence(store, clock, () => this.outbox.isSender);
        /** @type {Outbox} */
        this.outbox = this.#makeOutbox();
        /** @type {Loader} */
        this.loader = this.#makeLoader();
        this.marks = new Marks(this);
        this.typing = new Typing(this);
        this.push = new Push(this);
        this.notices = new Notices(this);
        this.views = new Views(this);
        this.screen = new Screen(this);
        this.feed = new Feed(this);
        this.device = new Device(this);
        this.#stopListening = transport.onNetworkChange?.((isUp) => {
            if (isUp) this.connection.retry();
            else this.connection.giveUp();
        });
        tabs.onPost((message) => this.#onPost(message));
    }

    close() {
        this.#isClosed = true;
        this.outbox.close();
        this.#stopListening?.();
        this.connection.stop("offline");
        this.persistence.close();
        this.tabs.close();
    }

    #makeConnection() {
        const { calls, session } = this;
        return new Connection({
            ...this.#options,
            nodes: this.nodes,
            accessToken: (refused) => session.accessToken(refused),
            verify: () => calls.send({ method: "GET", path: "/v1/account" }, session),
            since: () => this.persistence.confirmed.token,
            onStatus: () => this.feed.onStatus(),
            onEvent: (event) => {
                const isOfNow = event.kind === "heartbeat" || event.kind === "level";
                if (isOfNow) this.nodeTime.onNow(event.at);
                this.#stamps.onShown(event);
                this.feed.onEvent(event);
            },
            onWatching: (watching, isResumed) => {
                this.nodeTime.onNow(watching.now);
                this.feed.onWatching(watching, isResumed);
            },
        });
    }

    #makeOutbox() {
        const { connection, session } = this;
        const delivery = new Delivery(this);
        return new Outbox({
            ...this.#options,
            user: () => session.user,
            isOnline: () => connection.isOnline,
            nodeTime: this.nodeTime,
            stamps: this.#stamps,
            send: async (operation) => this.#shown(await delivery.send(operation)),
            onChange: (operation) => this.feed.onOperation(operation),
            isIncluded: (consequence) =>
                this.persistence.confirmed.includes(consequence) ||
                (this.feed.isCaughtUp ? false : undefined),
            isKnown: (action) => this.persistence.confirmed.knows(action),
            onAccepted: (...accepted) => this.feed.onAccepted(...accepted),
            onRefused: (operation, error) => {
                this.changes.add({ kind: "refused", operation, error });
            },
            onUnavailable: () => connection.giveUp(),
            onOver: (removals) => this.persistence.schedule(removals),
            onSender: () => this.persistence.takeOver(),
        });
    }

    #makeLoader() {
        const { calls, connection, session } = this;
        return new Loader({
            clock: this.#options.clock,
            confirmed: () => this.persistence.confirmed,
            isOnline: () => connection.isOnline,
            request: async (method, path) => this.#shown(await connection.request(method, path)),
            readSince: async (path, conversation) => {
                const { confirmed } = this.persistence;
                const call = { method: "GET", path, token: confirmed.tokens(conversation) };
                const answer = await calls.send(call, session, SINCE_TRIES).catch((error) => {
                    if (!error.reason?.startsWith("token_")) throw error;
                    confirmed.sessionTokens.list = [];
                    throw { ...error, code: 503 };
                });
                if (answer.token) confirmed.sessionTokens.onAnswer(answer.token, call.token ?? "");
                return this.#shown(answer);
            },
            isOpen: (id) => this.screen.isOpen(id),
            onChange: (id) => this.feed.onLoaded(id),
        });
    }

    /** @template {{body: any}} T @param {T} answer */
    #shown(answer) {
        this.#stamps.onShown(answer.body);
        return answer;
    }

    /** @param {any} message a message from another tab */
    #onPost(message) {
        if (this.#isClosed) return;
        if (message.kind === "session") this.device.onPost();
        else this.outbox.onPost(message);
    }
}
