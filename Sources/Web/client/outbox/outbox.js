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

/** The most operations that wait; one more is refused. */
const OPERATIONS_MAX = 1_000;

/**
 * The operations that the cluster has not shown yet. Each is stored before it is sent, and sent
 * until it is answered, by one tab at a time.
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
     * }} parts `onOver` removes an operation from the store, together with storing the state that
     *   has its effect: after a crash in between, neither or both would be missing
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

    /** Whether this tab is the one that sends. */
    get isSender() {
        return this.#sender.isActive;
    }

    get isStoringFiles() {
        return this.#stored.isStoringFiles;
    }

    /** Raised with every change of the operations. */
    get version() {
        return this.#entries.version;
    }

    /** The operations in order. */
    get operations() {
        return this.#entries.all.map(({ operation }) => operation);
    }

    /** @param {string} lane */
    lane(lane) {
        return this.operations.filter((operation) => operation.lane === lane);
    }

    /**
     * Reads the stored operations. The confirmed state is read after them: an operation leaves the
     * store together with being shown there.
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
     * Adds an operation; the view shows it from here on.
     *
     * @param {string} lane
     * @param {Action} action
     * @param {Write[]} [files] stored with it
     * @returns {Promise<void>} settles when the cluster has answered
     * @throws {Failure} 401 without a user, 429 if too many operations wait
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
     * Adds an operation; what `add` throws is a rejection, too.
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

    /** Drops the acknowledged operations that the confirmed state shows. */
    release() {
        this.#echoes.release();
    }

    /**
     * Hears what another tab has done.
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
     * Stops sending and releases this tab's locks: another tab, or the page when it is opened next,
     * sends the operations that are left.
     */
    close() {
        this.#sender.close();
        this.#leftovers.stop();
        this.#stored.close();
    }

    /** Drops all operations: the user has signed out. */
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
        // The tab before has removed what its own state showed, which this tab's may not.
        const acknowledged = this.operations.filter((operation) => operation.acknowledged);
        this.#put(acknowledged);
        // A tab that was opened meanwhile has read them as they were before.
        for (const operation of acknowledged) {
            this.#parts.tabs.post({ kind: "operation", operation });
        }
        this.#leftovers.watch();
    }

    /**
     * @param {Operation} operation that is stored
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
     * @param {Operation} operation that is stored
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
            // Its echo was faster, and has made way for the next one.
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

    /** @param {Operation[]} operations that were acknowledged */
    #put(operations) {
        this.#stored.put(operations).catch(() => {
            // They are sent again after the next opening, which does nothing twice.
        });
    }

    /**
     * Removes an operation that was carried out; from the store, only if this tab stores the state
     * that shows it.
     *
     * @param {Entry} entry
     */
    #remove(entry) {
        this.#entries.remove(entry);
        if (this.isSender) this.#parts.onOver(removals(entry.operation));
    }
}
