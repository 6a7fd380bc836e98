/** The most tokens that are kept beside that of the last event. */
const COUNT_MAX = 4;

/** The token of a node's stream or, without a node, of an answer. @typedef {{node?: string, token: string}} Entry */

/**
 * What answers have to include beside what the token of the last event stands for: what earlier
 * answers have shown, and what earlier streams have told, since a stream that goes on at a node
 * which lags begins with earlier tokens.
 */
export class SessionTokens {
    /** @type {Entry[]} */
    list = [];

    /**
     * Adds the last token of a node's stream, which another stream follows and which includes all
     * earlier tokens of the node's streams; or the token of a write.
     *
     * @param {string} token @param {string} [node]
     */
    add(token, node) {
        const others = this.list.filter((entry) =>
            entry.token !== token && (node === undefined || entry.node !== node)
        );
        this.list = [...others, { node, token }].slice(-COUNT_MAX);
    }

    /**
     * Replaces all tokens by that of an answer that had to include them.
     *
     * @param {string} token @param {string} included
     */
    onAnswer(token, included) {
        if (this.list.every((entry) => included.includes(entry.token))) this.list = [{ token }];
    }
}
