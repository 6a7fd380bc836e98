import { isEcho, isShown } from "./echo.js";
import { subjectOf } from "../sync/entries.js";

/** @import { ConfirmedState } from "../store/confirmed.js" */
/** @import { Entries } from "../sync/entries.js" */
/** @import { Clock, Operation } from "../types.js" */

/** @typedef {import("../sync/entries.js").Entry} Entry */
/** @typedef {import("../types.js").Action} Action */

/** Milliseconds without an echo event after which an acknowledged operation's state is reloaded. */
const ECHO_MILLISECONDS = 20_000;

/** The tracker of acknowledged operations that the confirmed state does not include yet. */
export class Echoes {
    #parts;
    /** Whether the confirmed state has been restored from the store. */
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
     * Matches an event with the pending operations: an echo of a sent operation acknowledges it,
     * even if the response is lost.
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

    /** Releases the acknowledged operations whose effects the confirmed state includes. */
    release() {
        if (!this.isOpen) return;
        const confirmed = this.#parts.confirmed();
        const unreleased = new Set();
        for (const entry of this.#parts.entries.all) {
            const subject = subjectOf(entry.operation);
            if (entry.phase === "acknowledged") {
                // An earlier operation on the same object may still hide this one's effect in the
                // confirmed state.
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

    /** @param {Entry} entry an acknowledged entry */
    expect(entry) {
        entry.acknowledgedAt = this.#parts.clock.now();
        this.#parts.clock.setTimer(ECHO_MILLISECONDS, () => this.release());
    }

    /** Restarts the echo timeouts after a reconnect, since missed echoes arrive from now on. */
    onOnline() {
        for (const entry of this.#parts.entries.all) {
            if (entry.phase === "acknowledged") this.expect(entry);
        }
    }

    /** @param {Entry} entry */
    #checkOverdue(entry) {
        const now = this.#parts.clock.now();
        if (!this.#parts.isOnline() || now < entry.acknowledgedAt + ECHO_MILLISECONDS) return;
        // An acknowledged message stays in the overlay until the confirmed state includes it.
        if (entry.isOverdue && entry.operation.action.kind !== "send") {
            return this.#parts.onShown(entry);
        }
        entry.isOverdue = true;
        this.#parts.onOverdue(entry.operation);
        this.expect(entry);
    }
}

/**
 * Whether an action causes an event of its own; events about action items carry only the item's new
 * state.
 *
 * @param {Action} action
 */
function hasOwnEcho(action) {
    return "conversation" in action && action.kind !== "create";
}
