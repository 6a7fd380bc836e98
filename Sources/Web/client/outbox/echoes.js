import { isEcho, isShown } from "./echo.js";
import { subjectOf } from "../sync/entries.js";

/** @import { ConfirmedState } from "../store/confirmed.js" */
/** @import { Entries } from "../sync/entries.js" */
/** @import { Clock, Operation } from "../types.js" */

/** @typedef {import("../sync/entries.js").Entry} Entry */
/** @typedef {import("../types.js").Action} Action */

/** Milliseconds after which an acknowledged operation without an echo is looked up. */
const ECHO_MILLISECONDS = 20_000;

/** The wait until the confirmed state shows what the cluster has acknowledged. */
export class Echoes {
    #parts;
    /** Whether the confirmed state has been read. */
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
     * Compares an event with the operations: the echo of one that is under way acknowledges it,
     * even where the answer is lost.
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

    /** Releases the acknowledged operations that the confirmed state shows. */
    release() {
        if (!this.isOpen) return;
        const confirmed = this.#parts.confirmed();
        const unreleased = new Set();
        for (const entry of this.#parts.entries.all) {
            const subject = subjectOf(entry.operation);
            if (entry.phase === "acknowledged") {
                // An earlier operation on the same subject has not left its trace there yet.
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

    /** @param {Entry} entry that was acknowledged */
    expect(entry) {
        entry.acknowledgedAt = this.#parts.clock.now();
        this.#parts.clock.setTimer(ECHO_MILLISECONDS, () => this.release());
    }

    /** The connection is there: the echoes that were missed come from here on. */
    onOnline() {
        for (const entry of this.#parts.entries.all) {
            if (entry.phase === "acknowledged") this.expect(entry);
        }
    }

    /** @param {Entry} entry */
    #checkOverdue(entry) {
        const now = this.#parts.clock.now();
        if (!this.#parts.isOnline() || now < entry.acknowledgedAt + ECHO_MILLISECONDS) return;
        // A message that was accepted is shown until it is there, however long that takes.
        if (entry.isOverdue && entry.operation.action.kind !== "send") {
            return this.#parts.onShown(entry);
        }
        entry.isOverdue = true;
        this.#parts.onOverdue(entry.operation);
        this.expect(entry);
    }
}

/**
 * Whether the events tell of an action by itself; of items they tell what has become of them.
 *
 * @param {Action} action
 */
function hasOwnEcho(action) {
    return "conversation" in action && action.kind !== "create";
}
