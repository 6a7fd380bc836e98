import { request } from "../network/requests.js";

/** @import { Calls } from "../network/calls.js" */
/** @import { Connection } from "../network/connection.js" */
/** @import { Files } from "../sync/files.js" */
/** @import { SendAnswer } from "./sender.js" */
/** @import { Session } from "../network/session.js" */
/** @import { Operation } from "../types.js" */

/** The sender of one user operation to a node; a message is sent after its files are uploaded. */
export class Delivery {
    #parts;

    /**
     * @param {{
     *   calls: Calls,
     *   session: Session,
     *   connection: Connection,
     *   files: Files,
     * }} parts
     */
    constructor(parts) {
        this.#parts = parts;
    }

    /**
     * @param {Operation} operation
     * @returns {Promise<SendAnswer>}
     */
    async send({ action, stamp }) {
        const { calls, connection, files, session } = this.#parts;
        const { body, method, path } = request(action);
        if (action.kind === "send") {
            const { blob, conversation, preview } = action;
            if (preview) await files.upload(conversation, preview);
            if (blob) await files.upload(conversation, blob);
        }
        if (action.kind !== "create") return connection.request(method, path, body, stamp);
        // Conversations are created by HTTP requests, where nodes look up users by e-mail address.
        return calls.send({ method, path, body }, session);
    }
}
