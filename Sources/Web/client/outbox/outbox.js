import { Echoes } from "./echoes.js";
import { Entries } from "../sync/entries.js";
import { failure, isFinal } from "../network/failures.js";
import { Leftovers } from "./leftovers.js";
import { OperationStore, removals } from "./operation-store.js";
import { Rollback } from "./rollback.js";
import { refusals } from "./rules.js";
import { Sender } from "./sender.js";
import { isStamped } from "./stamps.js";

/** @import { ConfirmedState } from "../store/confirmed.js" */
/** @import { Stamps } from "./stamps.js" */
/** @import { Clock, Store, SyncStore, Tabs } from "../types.js" */

/** @typedef {import("../sync/entries.js").Entry} Entry */
/** @typedef {import("./sender.js").SendAnswer} SendAnswer */
/** @typedef {import("../types.js").Action} Action */
/** @typedef {import("../types.js").Failure} Failure */
/** @typedef {import("../types.js").Operation} Operation */
/** @typedef {import("../types.js").Write} Write */

/** The most operations of the user that may be pending; further operations are rejected. */
const OPERATIONS_MAX = 1_000;

/**
 * The user's operations whose effects the data reported by nodes does not include yet. Each
 * operation is stored before it is sent. One browser tab at a time sends the operations, and
 * repeats each until the cluster answers.
 */
export class Outbox {
    #parts;
    #entries;
    #stored;
    #sender;
    #echoes;
    #rollback;
    #leftovers;

    /**
     * @param {{
     *   store: Store,
     *   syncStore: SyncStore,
     *   tabs: Tabs,
     *   clock: Clock,
     *   makeID: () => string,
     *   user: () => string | undefined,
     *   isOnline: () => boolean,
     *   stamps: Stamps,
     *   send: (operation: Operation) => Promise<SendAnswer>,
     *   confirmed: () => ConfirmedState,
     *   onChange: (operation: Operation) => void,
     *   onRefused: (operation: Operation, failure: Failure) => void,
     *   onOverdue: (operation: Operation) => void,
     *   onUnavailable: () => void,
     *   onOver: (writes: Write[]) => void,
     *   onSender: () => Promise<void>,
     * }} parts `onOver` removes an operation from the local store and stores the confirmed data
     *   that includes its effect in one transaction, so that a crash cannot separate the two writes
     */
    constructor(parts) {
        this.#parts = parts;
        const entries = this.#entries = new Entries(parts);
        const stored = this.#stored = new OperationStore(parts);
        this.#sender = new Sender({
            ...parts,
            entries,
            onTurn: () => this.#onTurn(),
            onActive: () => this.#onActive(),
            stamp: (entry) => this.#stamp(entry),
            onSending: ({ operation }) => parts.tabs.post({ kind: "sending", id: operation.id }),
            onAnswer: (entry, answer) => this.#onAnswer(entry, answer),
        });
        this.#echoes = new Echoes({
            ...parts,
            entries,
            onEcho: (entry, at) => this.#acknowledge(entry, { at }),
            onShown: (entry) => this.#remove(entry),
        });
        this.#rollback = new Rollback({ ...parts, entries, stored });
        this.#leftovers = new Leftovers({
            ...parts,
            ...{ entries, stored },
            onFound: (operation, isNews) => this.#onFound(operation, isNews),
            // The tab that gave the operation its stamp may have been closed before it told of it.
            onKnown: (operation) => this.#takeStamp(operation),
        });
    }

    /** Whether this browser tab is the one that currently sends the user's pending operations. */
    get isSender() {
        return this.#sender.isActive;
    }

    get isStoringFiles() {
        return this.#stored.isStoringFiles;
    }

    /** A counter that increases whenever a pending operation is added, changed or removed. */
    get version() {
        return this.#entries.version;
    }

    /** The user's pending operations, ordered by operation id. */
    get operations() {
        return this.#entries.all.map(({ operation }) => operation);
    }

    /** @param {string} lane */
    lane(lane) {
        return this.operations.filter((operation) => operation.lane === lane);
    }

    /**
     * Reads the pending operations from the local store.
     *
     * The caller must read the stored chats and messages afterwards, not before. Another tab
     * removes an operation and stores the data that includes its effect in one transaction. If this
     * transaction committed after a read of the data and before the read of the operations, this
     * tab would see neither the operation nor its effect.
     */
    async restore() {
        await this.#stored.open(this.#parts.makeID());
        await this.#leftovers.restore();
    }

    /**
     * Waits until this browser tab becomes the only one that sends the user's pending operations.
     */
    open() {
        this.#echoes.isOpen = true;
        this.#sender.open();
    }

    /**
     * Adds an operation of the user and shows its effect in the view at once.
     *
     * @param {string} lane
     * @param {Action} action
     * @param {Write[]} [files] the files to store in the operation's transaction
     * @returns {Promise<void>} settles when the cluster has answered
     * @throws {Failure} 401 without a signed-in user, 429 if too many operations are pending
     */
    add(lane, action, files = []) {
        const user = this.#parts.user();
        if (user === undefined) throw refusals.notSignedIn;
        if (this.#entries.size >= OPERATIONS_MAX) throw refusals.full;
        const at = new Date(this.#parts.clock.now()).toISOString();
        const operation = { id: this.#entries.nextID(), lane, at, action };
        const stored = this.#stored.add(user, operation, files);
        const entry = this.#entries.insert(operation, { phase: "added", isOwn: true });
        stored.then(
            () => this.#onStored(entry),
            () => this.#rollback.refuse(entry, refusals.notStored),
        );
        return entry.settled.promise;
    }

    /**
     * Adds an operation like `add`, but returns a rejected promise where `add` throws.
     *
     * @param {string} lane
     * @param {Action} action
     */
    async perform(lane, action) {
        await this.add(lane, action);
    }

    onOnline() {
        this.#echoes.onOnline();
        this.#sender.pump();
    }

    /** @param {any} event */
    onEvent(event) {
        this.#echoes.onEvent(event);
        this.#sender.pump();
    }

    /** Removes the acknowledged operations whose effects the data reported by nodes includes. */
    release() {
        this.#echoes.release();
    }

    /**
     * Handles a message in which another tab reports that an operation was stored, sent,
     * acknowledged or rolled back.
     *
     * @param {any} message
     */
    onPost(message) {
        if (message.kind === "operation") {
            this.#onPostedOperation(message.operation);
        } else if (message.kind === "sending") {
            const entry = this.#entries.get(message.id);
            if (entry && entry.phase !== "acknowledged") entry.phase = "sent";
        } else if (message.kind === "refused") {
            this.#rollback.onPost(message);
        }
    }

    /**
     * Stops sending operations and releases this tab's locks, so that another tab, or the next
     * start of the page, sends the remaining operations.
     */
    close() {
        this.#sender.close();
        this.#leftovers.stop();
        this.#stored.close();
    }

    /** Removes all pending operations and rejects their promises, after a sign-out. */
    async clear() {
        for (const entry of this.#entries.all) entry.settled.reject(refusals.notSignedIn);
        this.#entries.clear();
        await this.#stored.clear();
    }

    async #onTurn() {
        await this.#parts.onSender();
        await this.#parts.stamps.open();
        await this.#leftovers.restore();
    }

    /**
     * Gives an operation its stamp before it is first sent; a repetition has the same one.
     *
     * @param {Entry} entry
     */
    async #stamp(entry) {
        if (entry.operation.stamp || !isStamped(entry.operation)) return;
        const [operation, number] = this.#parts.stamps.next(entry.operation);
        await this.#stored.put([operation], [number]);
        entry.operation = operation;
        this.#parts.tabs.post({ kind: "operation", operation });
    }

    /** @param {Operation} operation an operation that another tab may have given a stamp */
    #takeStamp({ id, stamp }) {
        const entry = this.#entries.get(id);
        if (entry && stamp) entry.operation = { ...entry.operation, stamp };
    }

    #onActive() {
        // The tab that sent the operations until now removed acknowledged operations from the local
        // store when it had received their effects. This tab may not have received these effects,
        // so it stores the operations again.
        const acknowledged = this.operations.filter((operation) => operation.acknowledged);
        this.#put(acknowledged);
        // Other tabs may have read an operation before its acknowledgement, so they are notified.
        for (const operation of acknowledged) {
            this.#parts.tabs.post({ kind: "operation", operation });
        }
        this.#leftovers.watch();
    }

    /**
     * @param {Operation} operation a stored operation
     * @param {boolean} isNews
     */
    #onFound(operation, isNews) {
        this.#insert(operation, true);
        if (isNews) this.#parts.tabs.post({ kind: "operation", operation });
        this.#sender.pump();
    }

    /** @param {Operation} operation */
    #onPostedOperation(operation) {
        const entry = this.#entries.get(operation.id);
        if (this.#entries.isOver(operation.id)) return;
        if (!entry) this.#insert(operation, false);
        else if (operation.acknowledged && !entry.operation.acknowledged) {
            this.#entries.acknowledge(entry, operation);
            this.#echoes.expect(entry);
        } else this.#takeStamp(operation);
        this.#sender.pump();
        this.#echoes.release();
    }

    /**
     * @param {Operation} operation a stored operation
     * @param {boolean} isOwn
     */
    #insert(operation, isOwn) {
        const entry = this.#entries.insert(operation, { isOwn });
        if (operation.acknowledged) this.#echoes.expect(entry);
    }

    /** @param {Entry} entry */
    #onStored(entry) {
        const { operation } = entry;
        if (this.#entries.get(operation.id) !== entry) return;
        if (entry.phase === "added") entry.phase = "stored";
        this.#parts.tabs.post({ kind: "operation", operation });
        this.#sender.pump();
    }

    /**
     * @param {Entry} entry
     * @param {SendAnswer} answer
     */
    #onAnswer(entry, answer) {
        const { acknowledged, id, lane } = entry.operation;
        if (this.#entries.get(id) !== entry || acknowledged) {
            // The event that the operation caused arrived before this response and acknowledged it.
        } else if (answer.status === 200) {
            this.#acknowledge(entry, { at: answer.body?.at });
        } else if (isFinal(answer.status)) {
            this.#rollback.refuse(entry, failure(answer.status, answer.body));
        } else {
            if (answer.status === 408) this.#onUntimely(entry, answer.body?.error ?? {});
            this.#sender.postpone(lane, answer);
        }
        this.#sender.pump();
        this.#echoes.release();
    }

    /**
     * Has an operation begin anew that no node executes any more, or none before its time has come.
     *
     * @param {Entry} entry
     * @param {{reason?: string, now?: string}} error
     */
    #onUntimely(entry, { now, reason }) {
        const { stamps } = this.#parts;
        stamps.onNow(now);
        if (reason !== "operation_expired" && !stamps.isFarAhead(entry.operation)) return;
        entry.operation = { ...entry.operation, stamp: undefined };
        this.#put([entry.operation]);
    }

    /**
     * @param {Entry} entry
     * @param {import("../types.js").Acknowledgement} acknowledged
     */
    #acknowledge(entry, acknowledged) {
        const operation = { ...entry.operation, acknowledged };
        this.#entries.acknowledge(entry, operation);
        this.#echoes.expect(entry);
        this.#put([operation]);
        this.#parts.tabs.post({ kind: "operation", operation });
    }

    /** @param {Operation[]} operations the acknowledged operations */
    #put(operations) {
        this.#stored.put(operations).catch(() => {
            // If this write fails, the idempotent operations are sent again after the next start.
        });
    }

    /**
     * Removes an accepted operation whose effect nodes have reported, or whose effect was not
     * reported within the timeout.
     *
     * The tab that sends the operations also removes the operation from the local store.
     *
     * @param {Entry} entry
     */
    #remove(entry) {
        this.#entries.remove(entry);
        if (this.isSender) this.#parts.onOver(removals(entry.operation));
    }
}
