/** The addresses of the cluster's nodes, and the address in use; any node accepts any request. */
export class NodeList {
    #nodes;
    #index = 0;

    /** @param {string[]} nodes the addresses, at least one, such as `http://127.0.0.1:7301` */
    constructor(nodes) {
        if (nodes.length === 0) throw new TypeError("A client needs the address of a node");
        this.#nodes = nodes.map((node) => node.replace(/\/+$/, ""));
    }

    /** The address of the node to which the client currently sends requests. */
    get current() {
        return this.#nodes[this.#index];
    }

    get count() {
        return this.#nodes.length;
    }

    /**
     * Switches to the next node if the client still uses the node `failed`. If two requests fail at
     * one node, only the first failure switches, because the client then uses another node.
     *
     * @param {string} failed
     */
    leave(failed) {
        if (failed === this.current) this.#index = (this.#index + 1) % this.#nodes.length;
    }
}
