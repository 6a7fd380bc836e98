import { parsed } from "../network/node-time.js";

/** The most messages that are remembered, so that their notifications can be closed later. */
const NOTICES_MAX = 200;
/** Milliseconds after which a message is too old to notify of, for example after a reconnect. */
const NEW_MILLISECONDS = 60_000;

/** The requests to the page to notify the user of a message, or to close the notification. */
export class Notices {
    /** @type {Map<string, string>} */
    #told = new Map();
    #engine;

    /** @param {import("../sync/engine.js").Engine} engine */
    constructor(engine) {
        this.#engine = engine;
    }

    /** @param {any} event @param {boolean} isNew @param {string} user */
    onEvent(event, isNew, user) {
        const { by, conversation, id: message } = event;
        if (event.kind === "message" && isNew && event.from !== user) {
            const isOld = this.#engine.nodeTime.now > parsed(event.at) + NEW_MILLISECONDS;
            if (isOld || event.deletedForEveryone || this.#engine.screen.shows(conversation)) {
                return;
            }
            this.#told.set(message, conversation);
            if (this.#told.size > NOTICES_MAX) {
                const [[oldest]] = this.#told;
                this.#told.delete(oldest);
            }
            const { from, text } = event;
            this.#engine.changes.add({ kind: "notify", conversation, message, from, text });
        } else if (event.kind === "delete" && this.#told.delete(message)) {
            const change = { conversation, message, from: by, text: "", withdrawn: true };
            this.#engine.changes.add({ kind: "notify", ...change });
        }
    }
}
