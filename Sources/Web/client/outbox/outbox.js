import { Echoes } from "./echoes.js";
import { Entries } from "../sync/entries.js";
import { failure, isFinal } from "../network/failures.js";
import { Leftovers } from "./leftovers.js";
import { OperationStore, removals } from "./operation-store.js";
import { Rollback } from "./rollback.js";
import { refusals } from "./rules.js";
import { Sender } from "./sender.js";

/** @import { ConfirmedState } from "../store/confirmed.js" */
/** @import { Clock, Store, SyncStore, Tabs } from "../types.js" */

/** @typedef {import("../sync/entries.js").Entry} Entry */
/** @typedef {import("./sender.js").SendAnswer} SendAnswer */
/** @typedef {import("../types.js").Action} Action */
/** @typedef {import("../types.js").Failure} Failure */
/** @typedef {import("../types.js").Operation} Operation */
/** @typedef {import("../types.js").Write} Write */

/** The most pending operations; further ones are rejected. */
const OPERATIONS_MAX = 1_000;

/**
 * The user's operations that the confirmed state does not include yet. Each operation is stored
 * before it is sent, and is sent, by one tab at a time, until the cluster answers.
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
     *   send: (operation: Operation) => Promise<SendAnswer>,
     *   confirmed: () => ConfirmedState,
     *   onChange: (operation: Operation) => void,
     *   onRefused: (operation: Operation, failure: Failure) => void,
     *   onOverdue: (operation: Operation) => void,
     *   onUnavailable: () => void,
     *   onOver: (writes: Write[]) => void,
     *   onSender: () => Promise<void>,
     * }} parts `onOver` removes an operation from the store and stores the state that includes its
     *   effect in one transaction, so that a crash cannot separate the two
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
        });
    }

    /** Whether this tab currently sends the operations. */
    get isSender() {
        return this.#sender.isActive;
    }

    get isStoringFiles() {
        return this.#stored.isStoringFiles;
    }

    /** A counter raised with every change of the operations. */
    get version() {
        return this.#entries.version;
    }

    /** The pending operations, ordered by id. */
    get operations() {
        return this.#entries.all.map(({ operation }) => operation);
    }

    /** @param {string} lane */
    lane(lane) {
        return this.operations.filter((operation) => operation.lane === lane);
    }

    /**
     * Reads the stored operations. The caller reads the confirmed state afterwards: one transaction
     * removes an operation from the store and stores the state that includes it.
     */
    async restore() {
        await this.#stored.open(this.#parts.makeID());
        await this.#leftovers.restore();
    }

    /** Waits to become the tab that sends the operations. */
    open() {
        this.#echoes.isOpen = true;
        this.#sender.open();
    }

    /**
     * Adds an operation and shows it in the view at once.
     *
     * @param {string} lane
     * @param {Action} action
     * @param {Write[]} [files] stored in the same transaction
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
     * Adds an operation like `add`, but rejects instead of throwing.
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

    /** Removes the acknowledged operations whose effects the confirmed state includes. */
    release() {
        this.#echoes.release();
    }

    /**
     * Handles another tab's message about an operation that it stored, acknowledged, sent or rolled
     * back.
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
     * Stops sending and releases this tab's locks: another tab, or the next opening of the page,
     * sends the remaining operations.
     */
    close() {
        this.#sender.close();
        this.#leftovers.stop();
        this.#stored.close();
    }

    /** Removes all operations and rejects their promises, after a sign-out. */
    async clear() {
        for (const entry of this.#entries.all) entry.settled.reject(refusals.notSignedIn);
        this.#entries.clear();
        await this.#stored.clear();
    }

    async #onTurn() {
        await this.#parts.onSender();
        await this.#leftovers.restore();
    }

    #onActive() {
        // The earlier sending tab removed operations that its state, but maybe not this one, has.
        const acknowledged = this.operations.filter((operation) => operation.acknowledged);
        this.#put(acknowledged);
        // A tab that was opened in between has read the operations before their acknowledgement.
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
        }
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
            // The echo event arrived before the response and acknowledged the operation.
        } else if (answer.status === 200) {
            this.#acknowledge(entry, { at: answer.body?.at });
        } else if (isFinal(answer.status)) {
            this.#rollback.refuse(entry, failure(answer.status, answer.body));
        } else {
            this.#sender.postpone(lane, answer);
        }
        this.#sender.pump();
        this.#echoes.release();
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
            // The operations are sent again after the next opening; they are idempotent.
        });
    }

    /**
     * Removes an applied operation; the sending tab, which stores the confirmed state, also removes
     * it from the store.
     *
     * @param {Entry} entry
     */
    #remove(entry) {
        this.#entries.remove(entry);
        if (this.isSender) this.#parts.onOver(removals(entry.operation));
    }
}
