/** The nodes of the cluster, and the one in use: all are equal, and any takes any request. */
export class NodeList {
    #nodes;
    #index = 0;

    /** @param {string[]} nodes the addresses, at least one, such as `http://127.0.0.1:7301` */
    constructor(nodes) {
        if (nodes.length === 0) throw new TypeError("A client needs the address of a node");
        this.#nodes = nodes.map((node) => node.replace(/\/+$/, ""));
    }

    /** The node in use. */
    get current() {
        return this.#nodes[this.#index];
    }

    get count() {
        return this.#nodes.length;
    }

    /**
     * Turns to the next node, if `failed` is still the one in use: of two requests that fail at
     * one node, only the first changes it.
     *
     * @param {string} failed
     */
    leave(failed) {
        if (failed === this.current) this.#index = (this.#index + 1) % this.#nodes.length;
    }
}
