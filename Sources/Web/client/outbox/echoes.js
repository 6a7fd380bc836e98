import { isEcho, isShown } from "./echo.js";
import { subjectOf } from "../sync/entries.js";

/** @import { ConfirmedState } from "../store/confirmed.js" */
/** @import { Entries } from "../sync/entries.js" */
/** @import { Clock, Operation } from "../types.js" */

/** @typedef {import("../sync/entries.js").Entry} Entry */
/** @typedef {import("../types.js").Action} Action */

/**
 * Milliseconds to wait for the event that an acknowledged operation caused. If no such event
 * arrives, the client reloads the data that the operation changed.
 */
const ECHO_MILLISECONDS = 20_000;

/** The tracker of acknowledged operations whose effects no event or response has shown yet. */
export class Echoes {
    #parts;
    /**
     * Whether the chats and messages that nodes have confirmed were restored from the local store.
     */
    isOpen = false;

    /**
     * @param {{
     *   entries: Entries,
     *   clock: Clock,
     *   isOnline: () => boolean,
     *   confirmed: () => ConfirmedState,
     *   onEcho: (entry: Entry, at: string) => void,
     *   onShown: (entry: Entry) => void,
     *   onOverdue: (operation: Operation) => void,
     * }} parts
     */
    constructor(parts) {
        this.#parts = parts;
    }

    /**
     * Matches an event from the cluster with the user's pending operations. If a sent operation
     * caused the event, the operation counts as acknowledged, even if the node's response to it is
     * lost.
     *
     * @param {any} event
     */
    onEvent(event) {
        const { user } = this.#parts.confirmed();
        for (const entry of this.#parts.entries.all) {
            if (entry.isEchoed || !isEcho(event, entry.operation.action, user)) continue;
            const isMessage = entry.operation.action.kind === "send";
            if (entry.phase !== "sent" && entry.phase !== "acknowledged" && !isMessage) continue;
            entry.isEchoed = true;
            if (entry.phase !== "acknowledged") this.#parts.onEcho(entry, event.at);
            break;
        }
        this.release();
    }

    /** Removes the acknowledged operations whose effects the data reported by nodes includes. */
    release() {
        if (!this.isOpen) return;
        const confirmed = this.#parts.confirmed();
        const unreleased = new Set();
        for (const entry of this.#parts.entries.all) {
            const subject = subjectOf(entry.operation);
            if (entry.phase === "acknowledged") {
                // An object is compared only with the first pending operation on it, because an
                // earlier operation may still hide the effect of a later one.
                const isFirst = !unreleased.has(subject);
                const isOver = entry.isEchoed && hasOwnEcho(entry.operation.action) ||
                    isFirst && isShown(confirmed, entry.operation);
                if (isOver) {
                    this.#parts.onShown(entry);
                    continue;
                }
                this.#checkOverdue(entry);
            }
            unreleased.add(subject);
        }
    }

    /** @param {Entry} entry the entry of an acknowledged operation */
    expect(entry) {
        entry.acknowledgedAt = this.#parts.clock.now();
        this.#parts.clock.setTimer(ECHO_MILLISECONDS, () => this.release());
    }

    /**
     * Restarts the timeouts of acknowledged operations after a reconnect, because the events that
     * were missed while offline arrive only then.
     */
    onOnline() {
        for (const entry of this.#parts.entries.all) {
            if (entry.phase === "acknowledged") this.expect(entry);
        }
    }

    /** @param {Entry} entry */
    #checkOverdue(entry) {
        const now = this.#parts.clock.now();
        if (!this.#parts.isOnline() || now < entry.acknowledgedAt + ECHO_MILLISECONDS) return;
        // An accepted message stays in the view until data from nodes includes it, without a
        // timeout.
        if (entry.isOverdue && entry.operation.action.kind !== "send") {
            return this.#parts.onShown(entry);
        }
        entry.isOverdue = true;
        this.#parts.onOverdue(entry.operation);
        this.expect(entry);
    }
}

/**
 * Whether the event that a user's operation causes identifies the operation. Events about action
 * items do not, because they contain only the item's new state.
 *
 * @param {Action} action
 */
function hasOwnEcho(action) {
    return "conversation" in action && action.kind !== "create";
}
