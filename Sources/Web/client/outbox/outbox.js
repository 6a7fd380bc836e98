import { consequenceOf } from "./actions.js";
import { Entries } from "./entries.js";
import { failure, isFinal } from "../network/failures.js";
import { laneOf } from "./lanes.js";
import { OperationStore, removals } from "./operation-store.js";
import { refusals } from "./rules.js";
import { Sender } from "./sender.js";
import { isStamped, timeOf } from "./stamps.js";

/** @import { StateUpdate } from "../state/confirmed.js" */
/** @import { NodeTime } from "../network/node-time.js" */
/** @import { Stamps } from "./stamps.js" */
/** @import { Clock, Store, SyncStore, Tabs } from "../types.js" */

/** @typedef {import("./entries.js").Entry} Entry */
/** @typedef {import("./entries.js").Outcome} Outcome */
/** @typedef {import("./sender.js").SendAnswer} SendAnswer */
/** @typedef {import("../types.js").Action} Action */
/** @typedef {import("../types.js").Failure} Failure */
/** @typedef {import("../types.js").Operation} Operation */
/** @typedef {import("../types.js").Write} Write */

/** The most operations of the user that may be pending; further operations are rejected. */
const OPERATIONS_MAX = 1_000;
/** The most attempts, a second apart, at nodes that do not have what an operation is about. */
const MISSES_MAX = 600;
/** The same for what is deleted that this tab does not know, and for the files of a message. */
const FEW_MISSES_MAX = 10;
/** The kinds of actions that take something away. */
const deletions = new Set(["delete", "retract", "deleteItem"]);
/** Milliseconds between two checks for pending operations that closed browser tabs left behind. */
const LOOK_MILLISECONDS = 5_000;

/**
 * The user's operations that no node has accepted yet. Each operation is stored before it is sent.
 * One browser tab at a time sends the operations, and repeats each until the cluster answers. Then
 * the operation ends in all tabs: its consequence is merged into the confirmed state, or its effect
 * is gone from the view.
 */
export class Outbox {
    #parts;
    #entries;
    #stored;
    #sender;
    #stopWatching = () => {};
    /** The messages of other tabs until this tab is open. @type {any[] | undefined} */
    #held = [];
    /** The opening of the local store's log. @type {Promise<void> | undefined} */
    #opened;

    /**
     * @param {{
     *   store: Store, syncStore: SyncStore, tabs: Tabs, clock: Clock, makeID: () => string,
     *   user: () => string | undefined, isOnline: () => boolean, nodeTime: NodeTime,
     *   isIncluded: (consequence: StateUpdate) => boolean | undefined,
     *   isKnown: (action: Action) => boolean,
     *   stamps: Stamps, send: (operation: Operation) => Promise<SendAnswer>,
     *   onChange: (operation: Operation) => void,
     *   onAccepted: (consequence: StateUpdate, token?: string) => void,
     *   onRefused: (operation: Operation, failure: Failure) => void, onUnavailable: () => void,
     *   onOver: (writes: Write[]) => Promise<void>, onSender: () => Promise<void>,
     * }} parts `isIncluded` tells whether nodes have told of a consequence or of what has overtaken
     *   it, undefined before they have told everything; `isKnown` tells whether a node has shown
     *   what an action is about; `onOver` removes an operation from the local store and stores the confirmed data
     *   with its consequence in one transaction, so that a crash cannot separate the two writes
     */
    constructor(parts) {
        this.#parts = parts;
        const entries = this.#entries = new Entries(parts);
        this.#stored = new OperationStore(parts);
        this.#sender = new Sender({
            ...parts,
            entries,
            onTurn: () => this.#onTurn(),
            onActive: () => this.#watch(),
            stamp: (entry) => this.#stamp(entry),
            onAnswer: (entry, answer) => this.#onAnswer(entry, answer),
        });
    }

    /** Whether this browser tab is the one that currently sends the user's pending operations. */
    get isSender() {
        return this.#sender.isActive;
    }

    get isStoringFiles() {
        return this.#stored.isStoringFiles;
    }

    get version() {
        return this.#entries.version;
    }

    /** The user's pending operations, ordered by operation id. */
    get operations() {
        return this.#entries.all.map(({ operation }) => operation);
    }

    /**
     * Reads the pending operations. The caller reads the stored chats and messages afterwards, not
     * before: another tab removes an operation and stores its consequence in one transaction, and a
     * transaction that commits between two reads in the other order would hide both from this tab.
     */
    async restore() {
        await (this.#opened ??= this.#stored.open(this.#parts.makeID()));
        await this.#readStored();
    }

    /**
     * Handles the messages of other tabs, and waits until this tab becomes the only one that sends
     * the user's pending operations. The caller has restored the chats and messages.
     */
    open() {
        const held = this.#held;
        if (!held) return;
        this.#held = undefined;
        for (const message of held) this.onPost(message);
        this.#sender.open();
    }

    /**
     * Adds an operation of the user and shows its effect in the view at once.
     *
     * @param {Action} action @param {Write[]} [files] stored in the operation's transaction
     * @returns {Promise<void>} settles when the cluster has answered
     * @throws {Failure} 401 without a signed-in user, 429 if too many operations are pending
     */
    add(action, files = []) {
        const user = this.#parts.user();
        if (user === undefined) throw refusals.notSignedIn;
        if (this.#entries.size >= OPERATIONS_MAX) throw refusals.full;
        const at = new Date(this.#parts.clock.now()).toISOString();
        const operation = { id: this.#entries.nextID(), lane: laneOf(action), at, action };
        const stored = this.#stored.add(user, operation, files);
        const entry = this.#entries.insert(operation, { isStored: false, isOwn: true });
        stored.then(
            () => this.#onStored(entry),
            () => this.#refuse(entry, refusals.notStored),
        );
        return entry.settled.promise;
    }

    onOnline() {
        this.#sender.pump();
    }

    /** Handles a tab's message that an operation was stored or has ended. @param {any} message */
    onPost(message) {
        if (this.#held) {
            // The state to which the message belongs is not restored yet.
            if (this.#held.length < OPERATIONS_MAX) this.#held.push(message);
        } else if (message.kind === "operation") {
            this.#onPostedOperation(message.operation);
        } else if (message.kind === "ended") {
            const entry = this.#entries.get(message.id);
            if (entry) this.#end(entry, message.outcome);
            else if (message.isStored) this.#entries.end(message.id, message.outcome);
            this.#sender.pump();
        }
    }

    /** Stops sending and releases the locks, so that another tab or the next start continues. */
    close() {
        this.#sender.close();
        this.#stopWatching();
        this.#stored.close();
    }

    /** Removes all pending operations from memory and rejects their promises. */
    clear() {
        for (const entry of this.#entries.all) entry.settled.reject(refusals.notSignedIn);
        this.#entries.clear();
    }

    /** Removes all pending operations from this device, after a sign-out. */
    clearStore() {
        return this.#stored.clear();
    }

    async #onTurn() {
        await this.#parts.onSender();
        await this.#parts.stamps.open();
        await this.#readStored();
    }

    /** Takes in the operations of closed tabs, from the write-ahead log and the local store. */
    async #readStored() {
        await this.#takeIn();
        for (const operation of await this.#stored.read()) {
            // The tab that gave an operation its stamp may have been closed before it told of it.
            if (this.#entries.get(operation.id)) this.#takeStamp(operation);
            else this.#onFound(operation, false);
        }
    }

    /** Takes in what closed tabs leave, and removes ended operations from the store, every 5 s. */
    async #watch() {
        this.#stopWatching = this.#parts.clock.setTimer(LOOK_MILLISECONDS, () => {
            this.#watch();
            this.#takeIn();
        });
        // A tab may have been closed before it removed an operation that had ended.
        for (const operation of await this.#stored.read()) {
            const outcome = this.#entries.outcome(operation.id);
            if (outcome) this.#forget(operation, outcome);
        }
    }

    /** Moves the operations of closed tabs from the write-ahead log to the local store. */
    async #takeIn() {
        const user = this.#parts.user();
        if (user === undefined) return;
        try {
            for (const operation of await this.#stored.takeIn(user)) {
                if (!this.#entries.get(operation.id)) this.#onFound(operation, true);
            }
        } catch (error) {
            console.warn("What another tab has left is not taken in yet:", error);
        }
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
        if (this.#entries.get(operation.id) !== entry) return;
        this.#parts.tabs.post({ kind: "operation", operation });
    }

    /** @param {Operation} operation an operation that another tab may have given a stamp */
    #takeStamp({ id, stamp }) {
        const entry = this.#entries.get(id);
        if (entry && stamp) entry.operation = { ...entry.operation, stamp };
    }

    /** @param {Operation} operation a stored operation @param {boolean} isNews */
    #onFound(operation, isNews) {
        if (this.#entries.outcome(operation.id)) return;
        this.#entries.insert(operation, { isOwn: true });
        if (isNews) this.#parts.tabs.post({ kind: "operation", operation });
        this.#sender.pump();
    }

    /** @param {Operation} operation */
    #onPostedOperation(operation) {
        if (this.#entries.outcome(operation.id)) return;
        if (this.#entries.get(operation.id)) this.#takeStamp(operation);
        else this.#entries.insert(operation, { isOwn: false });
        this.#sender.pump();
    }

    /** @param {Entry} entry */
    #onStored(entry) {
        const { operation } = entry;
        if (this.#entries.get(operation.id) !== entry) return;
        entry.isStored = true;
        this.#parts.tabs.post({ kind: "operation", operation });
        this.#sender.pump();
    }

    /** @param {Entry} entry @param {SendAnswer} answer */
    #onAnswer(entry, answer) {
        const { operation } = entry;
        if (this.#entries.get(operation.id) !== entry) {
            // The user has signed out meanwhile.
        } else if (answer.status === 200) {
            const stamped = timeOf(operation);
            if (!stamped) this.#parts.nodeTime.onAccepted(answer.body.at);
            this.#settle(entry, { at: stamped ?? answer.body.at, token: answer.token });
        } else if (isFinal(answer.status) && this.#isDone(operation)) {
            this.#settle(entry, { at: timeOf(operation) ?? "" });
        } else if (this.#isMissed(entry, answer)) {
            // Another node may have it.
            this.#sender.postpone(operation.lane, {
                ...answer,
                status: entry.misses > 1 ? 503 : 404,
            });
        } else if (isFinal(answer.status)) {
            this.#refuse(entry, failure(answer.status, answer.body));
        } else {
            if (answer.status === 408) this.#onUntimely(entry, answer.body?.error ?? {});
            this.#sender.postpone(operation.lane, answer);
        }
        this.#sender.pump();
    }

    /**
     * Whether a node may refuse an operation because it does not have what another one has shown,
     * or a file that was uploaded to another one. Of what is gone, an event tells.
     *
     * @param {Entry} entry @param {SendAnswer} answer
     */
    #isMissed(entry, { body, status }) {
        const reason = body?.error?.reason;
        if (status !== 404 && reason !== "not_participant") return false;
        entry.misses += 1;
        const { action } = entry.operation;
        const isKnown = this.#parts.isKnown(action);
        const max = isKnown && reason !== "file_not_found" ? MISSES_MAX : FEW_MISSES_MAX;
        return entry.misses <= max && (isKnown || deletions.has(action.kind));
    }

    /**
     * Whether nodes have told of a deletion of the user's: one that is repeated is refused where
     * what it deletes is not there.
     *
     * @param {Operation} operation
     */
    #isDone(operation) {
        const [{ action }, at] = [operation, timeOf(operation)];
        if (!at || !deletions.has(action.kind)) return false;
        return this.#parts.isIncluded(consequenceOf(action, at, "")) === true;
    }

    /**
     * Takes the stamp of an operation that no node executes any more, or none before its time has
     * come: the operation gets another one when it is sent again. An expired operation of which
     * nodes tell that it was executed, or that a later change has overtaken it, is accepted.
     *
     * @param {Entry} entry @param {{reason?: string, now?: string}} error
     */
    #onUntimely(entry, { now, reason }) {
        const { isIncluded, nodeTime, stamps } = this.#parts;
        const at = timeOf(entry.operation) ?? "";
        nodeTime.onRefusal(now);
        if (reason === "operation_expired") {
            const consequence = consequenceOf(entry.operation.action, at, "");
            const isOver = isIncluded(consequence);
            // What was missed may tell of it yet.
            if (isOver === undefined) return;
            if (isOver) return this.#settle(entry, { at });
        } else if (!stamps.forgets(entry.operation)) return;
        entry.operation = { ...entry.operation, stamp: undefined };
        this.#stored.put([entry.operation]).catch(() => {
            // If this write fails, the operation gets another stamp after the next start.
        });
    }

    /**
     * Ends a rejected operation and, without a notice, the pending operations on the message or the
     * conversation that it would have created.
     *
     * @param {Entry} entry @param {Failure} failure
     */
    #refuse(entry, failure) {
        const { action } = entry.operation;
        this.#settle(entry, { failure, isQuiet: false });
        if (action.kind !== "send" && action.kind !== "create") return;
        for (const other of this.#entries.all) {
            const { action: another, lane } = other.operation;
            const isOf = lane === entry.operation.lane &&
                (action.kind === "create" ||
                    "message" in another && another.message === action.message);
            if (isOf) this.#settle(other, { failure, isQuiet: true });
        }
    }

    /**
     * Ends an operation in all tabs, which are told at once, and again when the end is stored: a
     * tab may have read the operation from the store in between.
     *
     * @param {Entry} entry @param {Outcome} outcome
     */
    #settle(entry, outcome) {
        const { operation } = entry;
        this.#parts.tabs.post({ kind: "ended", id: operation.id, outcome });
        this.#end(entry, outcome);
        this.#forget(operation, outcome);
    }

    /**
     * Removes an operation that has ended from the local store.
     *
     * @param {Operation} operation @param {Outcome} outcome
     */
    async #forget(operation, outcome) {
        await this.#parts.onOver(removals(operation));
        this.#parts.tabs.post({ kind: "ended", id: operation.id, outcome, isStored: true });
    }

    /** @param {Entry} entry @param {Outcome} outcome */
    #end(entry, outcome) {
        const { isOwn, operation, settled } = entry;
        const { onAccepted, onRefused, user } = this.#parts;
        if ("at" in outcome) {
            const consequence = consequenceOf(operation.action, outcome.at, user() ?? "");
            onAccepted(consequence, outcome.token);
            settled.resolve();
        } else {
            settled.reject(outcome.failure);
            if (isOwn && !outcome.isQuiet) onRefused(operation, outcome.failure);
        }
        this.#entries.remove(entry, outcome);
    }
}
