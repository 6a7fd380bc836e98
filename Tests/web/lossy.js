import { browserTransport } from "../../Sources/Web/client/network/browser.js";

/** @typedef {import("../../Sources/Web/client/types.js").Clock} Clock */
/** @typedef {import("../../Sources/Web/client/types.js").Transport} Transport */
/** @typedef {import("../../Sources/Web/client/types.js").SocketEvents} SocketEvents */

/** How much faster the time of a client passes than that of its nodes. */
const SPEED = 10;
/** Milliseconds of a client after which some acknowledgements and snapshots come. */
const LATE_MILLISECONDS = 30_000;

/**
 * A clock that is faster than the real one, so that half a minute is three seconds.
 *
 * @implements {Clock}
 */
export class FastClock {
    #start = Date.now();
    #began = performance.now();

    now = () => Math.floor(this.#start + (performance.now() - this.#began) * SPEED);

    /** The nodes' clocks run as usual. */
    elapsed = () => performance.now();

    /** @type {Clock["setTimer"]} */
    setTimer = (milliseconds, action) => {
        const timer = setTimeout(action, milliseconds / SPEED);
        return () => clearTimeout(timer);
    };
}

/** The network between a client and real nodes, which loses and delays as a seed says. */
export class LossyNetwork {
    isUp = true;
    isRough = false;

    /**
     * @param {Clock} clock
     * @param {() => number} random
     */
    constructor(clock, random) {
        this.clock = clock;
        this.random = random;
    }

    /** Milliseconds until something arrives; undefined if it never does. */
    delay() {
        if (!this.isRough) return 0;
        const dice = this.random();
        if (dice < 0.06) return undefined;
        if (dice < 0.09) return LATE_MILLISECONDS;
        return dice < 0.25 ? this.random() * 2_500 : 0;
    }

    /** @returns {Transport} */
    transport() {
        return {
            fetch: (node, call, milliseconds) =>
                new Promise((resolve, reject) => {
                    // The nodes are no faster than they are.
                    const patience = this.isRough ? milliseconds / SPEED : milliseconds;
                    setTimeout(() => reject(new Error("no answer")), patience);
                    if (!this.isUp) return reject(new Error("no network"));
                    browserTransport.fetch(node, call, milliseconds).then(
                        // It was carried out, whether its answer comes or not.
                        (answer) => this.#deliver(() => resolve(answer)),
                        reject,
                    );
                }),
            open: (node, accessToken, since, events) => {
                const socket = new LossySocket(this, events);
                socket.dial(node, accessToken, since);
                return socket;
            },
        };
    }

    /** @param {() => void} action */
    #deliver(action) {
        const delay = this.delay();
        if (delay === undefined) return;
        this.clock.setTimer(delay, () => this.isUp && action());
    }
}

/** A WebSocket through a lossy network: a gap ends it, of which neither side is told. */
class LossySocket {
    #isDead = false;
    /** @type {import("../../Sources/Web/client/types.js").Socket | undefined} */
    #socket;

    /**
     * @param {LossyNetwork} network
     * @param {SocketEvents} events
     */
    constructor(network, events) {
        this.network = network;
        this.events = events;
    }

    /**
     * @param {string} node
     * @param {string} accessToken
     * @param {string | undefined} since
     */
    dial(node, accessToken, since) {
        this.#socket = browserTransport.open(node, accessToken, since, {
            onOpen: () => this.#isThere && this.events.onOpen(),
            onText: (text) => this.#onText(text),
            onClose: (code) => this.#isThere && this.events.onClose(code),
        });
    }

    /** @param {string} text */
    send(text) {
        if (!this.#isThere) return;
        this.#socket?.send(text);
        const { isRough, random } = this.network;
        if (!isRough || random() > 0.02) return;
        // The request has arrived; the connection has not survived it.
        this.close();
        this.network.clock.setTimer(1, () => this.events.onClose(1006));
    }

    close() {
        this.#isDead = true;
        this.#socket?.close();
    }

    get #isThere() {
        this.#isDead ||= !this.network.isUp;
        return !this.#isDead;
    }

    /** @param {string} text */
    #onText(text) {
        if (!this.#isThere) return;
        // Events keep their order; answers are overtaken by them.
        if (JSON.parse(text).event) return this.events.onText(text);
        const delay = this.network.delay();
        if (delay === undefined) return;
        this.network.clock.setTimer(delay, () => this.#isThere && this.events.onText(text));
    }
}
