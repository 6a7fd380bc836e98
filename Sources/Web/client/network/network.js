import { Account } from "./account.js";
import { Calls } from "./calls.js";
import { Connection } from "./connection.js";
import { NodeList } from "./nodes.js";
import { Session } from "./session.js";

/**
 * The client's network layer: HTTP requests, the session tokens that authenticate them, and the
 * WebSocket connection.
 */
export class Network {
    /**
     * @param {import("../sync/engine.js").CompleteOptions} options
     * @param {{
     *   since: () => string | undefined,
     *   onSessionEnd: (reason: import("../types.js").Failure) => void,
     *   onStatus: () => void,
     *   onEvent: (event: any) => void,
     *   onWatching: (token: string, isResumed: boolean) => void,
     *   onNow: (now: string | undefined) => void,
     * }} parts
     */
    constructor({ clock, makeID, nodes, random, store, tabs, transport }, parts) {
        this.nodes = new NodeList(nodes);
        this.calls = new Calls(this.nodes, transport, clock);
        const { calls } = this;
        this.session = new Session({
            store,
            tabs,
            clock,
            calls,
            makeID,
            onEnd: parts.onSessionEnd,
        });
        this.account = new Account(calls, this.session);
        this.connection = new Connection({
            ...parts,
            ...{ nodes: this.nodes, transport, clock, random },
            accessToken: (refused) => this.session.accessToken(refused),
            verify: () => calls.send({ method: "GET", path: "/v1/account" }, this.session),
        });
        this.stop = transport.onNetworkChange?.((isUp) => {
            if (isUp) this.connection.retry();
            else this.connection.giveUp();
        }) ?? (() => {});
    }

    close() {
        this.stop();
        this.connection.stop("offline");
    }
}
