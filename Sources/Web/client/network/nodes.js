/** The addresses of the cluster's nodes, and the address in use; any node accepts any request. */
export class NodeList {
    #nodes;
    #index = 0;

    /** @param {string[]} nodes the addresses, at least one, such as `http://127.0.0.1:7301` */
    constructor(nodes) {
        if (nodes.length === 0) throw new TypeError("A client needs the address of a node");
        this.#nodes = nodes.map((node) => node.replace(/\/+$/, ""));
    }

    get current() {
        return this.#nodes[this.#index];
    }

    get count() {
        return this.#nodes.length;
    }

    /**
     * Switches to the next node, unless an earlier failure of the same node has already switched.
     *
     * @param {string} failed
     */
    leave(failed) {
        if (failed === this.current) this.#index = (this.#index + 1) % this.#nodes.length;
    }
}
