import { exactly } from "../network/connection.js";
import { requestOf } from "./actions.js";

/** @import { SendAnswer } from "./sender.js" */
/** @import { Operation } from "../types.js" */

/** The actions after which reads have to include what they have changed. */
const actionsOfChats = new Set(["create", "hide", "leave"]);

/** The sender of one user operation to a node; a message is sent after its files are uploaded. */
export class Delivery {
    #engine;

    /** @param {import("../sync/engine.js").Engine} engine */
    constructor(engine) {
        this.#engine = engine;
    }

    /** @param {Operation} operation @returns {Promise<SendAnswer>} */
    async send({ action, stamp }) {
        const { calls, connection, files, session } = this.#engine;
        const { body, method, path: inexact } = requestOf(action);
        const path = exactly(inexact);
        if (action.kind === "send") {
            const { blob, conversation, preview } = action;
            if (preview) await files.upload(conversation, preview);
            if (blob) await files.upload(conversation, blob);
        }
        if (!actionsOfChats.has(action.kind)) return connection.request(method, path, body, stamp);
        // The answer to an HTTP request has a token; and nodes look up users by e-mail address.
        return calls.send({ method, path, body, operation: stamp }, session);
    }
}
