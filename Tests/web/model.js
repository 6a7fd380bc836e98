/**
 * A model of the cluster's data: each node has the changes that have reached it, and what a user
 * sees follows from these. Changes of one node reach another in their order.
 */

/**
 * @typedef {{node: number, number: number, at: string, by: string, conversation: string,
 *   seq: string, kind: string, id?: string, text?: string, user?: string,
 *   title?: string, operation?: string}} ChangeOfModel
 */

/** A node of the model: its own and others' changes, by origin, and who watches. */
export class ModelNode {
    isUp = true;
    /** What has arrived while the node stands still. @type {(() => void)[] | undefined} */
    waiting;
    /** @type {ChangeOfModel[]} */
    log = [];
    /** How many changes of each node are here. @type {number[]} */
    vector;
    /** @type {Set<(change: ChangeOfModel) => void>} */
    watchers = new Set();
    /** The time of the last change, and the place of a message among those of one millisecond. */
    #last = { time: 0, count: 0, isMessage: false };

    /**
     * @param {number} index
     * @param {number} count
     */
    constructor(index, count) {
        this.index = index;
        this.vector = Array(count).fill(0);
    }

    /**
     * Accepts a change of a user's; one that has a stamp has its time.
     *
     * @param {Omit<ChangeOfModel, "node" | "number" | "at" | "seq">} fields
     * @param {number} now
     */
    accept(fields, now) {
        now = Math.floor(now);
        if (fields.operation) {
            const time = Date.parse(fields.operation.slice(-30));
            const seq = time.toString(16).padStart(12, "0") + "0000";
            const number = this.vector[this.index] + 1;
            const at = new Date(time).toISOString();
            const change = { ...fields, node: this.index, number, at, seq };
            this.receive(change);
            return change;
        }
        const { time: last, count: lastCount, isMessage: wasMessage } = this.#last;
        // Messages may share a millisecond; the times of other changes differ.
        const isShared = now <= last && wasMessage && fields.kind === "message";
        const [time, count] = isShared ? [last, lastCount + 1] : [Math.max(last + 1, now), 0];
        const at = new Date(time).toISOString();
        const seq = time.toString(16).padStart(12, "0") + count.toString(16).padStart(4, "0");
        const number = this.vector[this.index] + 1;
        const change = { ...fields, node: this.index, number, at, seq };
        this.receive(change);
        return change;
    }

    /**
     * Whether a change makes no difference, since another node has executed the same operation.
     *
     * @param {ChangeOfModel} change
     */
    isAgain(change) {
        const { operation } = change;
        return operation !== undefined &&
            this.log.some((other) => other !== change && other.operation === operation);
    }

    /** @param {ChangeOfModel} change */
    receive(change) {
        if (change.number !== this.vector[change.node] + 1) return;
        this.vector[change.node] = change.number;
        const [time, count] = [Date.parse(change.at), parseInt(change.seq.slice(12), 16)];
        const isLater = time > this.#last.time ||
            time === this.#last.time && count > this.#last.count;
        if (isLater) this.#last = { time, count, isMessage: change.kind === "message" };
        this.log.push(change);
        for (const watcher of [...this.watchers]) watcher(change);
    }

    /**
     * The messages of a conversation as a user sees them, in order; hidden ones too.
     *
     * @param {string} conversation
     * @param {string} user
     */
    messages(conversation, user) {
        /** @type {Map<string, any>} */
        const found = new Map();
        const changes = this.log.filter((change) => change.conversation === conversation);
        // The order of times is one in which all nodes agree: the last one wins everywhere.
        changes.sort((a, b) => a.seq === b.seq ? a.node - b.node : a.seq < b.seq ? -1 : 1);
        for (const change of changes) {
            if (change.kind !== "message" || found.has(change.id ?? "")) continue;
            const { id, seq, by: from, at, text } = change;
            found.set(id ?? "", { id, seq, from, at, type: "text", text });
        }
        for (const change of changes) {
            const message = found.get(change.id ?? "");
            if (message) applyChange(message, change, user);
        }
        const list = [...found.values()];
        return list.sort((a, b) =>
            a.seq === b.seq ? (a.id < b.id ? -1 : 1) : a.seq < b.seq ? -1 : 1
        );
    }

    /** @param {string} user */
    chats(user) {
        const created = this.log.filter(({ kind }) => kind === "create");
        return created.filter((change) => change.user?.split(",").includes(user))
            .map((change) => this.#chat(change, user));
    }

    /**
     * @param {ChangeOfModel} created
     * @param {string} user
     */
    #chat({ at: createdAt, conversation, title, user: users }, user) {
        const shown = this.messages(conversation, user).filter(({ isHidden }) => !isHidden);
        const last = shown.filter(({ deletedForEveryone }) => !deletedForEveryone).at(-1);
        return {
            ...{ id: conversation, title, createdAt, participants: users?.split(",").sort() },
            unread: 0,
            lastText: last?.text ?? "No messages yet",
            ...(last ? { last: last.id, lastFrom: last.from, lastAt: last.at } : {}),
        };
    }
}

/**
 * @param {any} message
 * @param {ChangeOfModel} change
 * @param {string} user
 */
function applyChange(message, change, user) {
    const { at, by, kind, text } = change;
    const isGone = message.deletedForEveryone;
    if (kind === "edit" && !isGone) Object.assign(message, { text, edited: at });
    if (kind === "delete" && by === user) message.isHidden = true;
    if (kind === "restore" && by === user && !isGone) message.isHidden = false;
    if (kind === "pin" && !isGone) Object.assign(message, { pinnedBy: by, pinnedAt: at });
    if (kind === "unpin") Object.assign(message, { pinnedBy: undefined, pinnedAt: undefined });
    if (kind !== "retract") return;
    const none = { edited: undefined, pinnedBy: undefined, pinnedAt: undefined };
    Object.assign(message, none, { text: "[Message deleted]", deletedForEveryone: true });
    if (by === user) message.isHidden = true;
}

/**
 * The event that tells a user of a change, or undefined.
 *
 * @param {ModelNode} node
 * @param {ChangeOfModel} change
 * @param {string} user
 */
export function eventOf(node, change, user) {
    const { at, by, conversation, id, kind } = change;
    if (isOverridden(node, change)) return undefined;
    const event = { kind, conversation, by, at, id };
    if (kind === "create") {
        return { ...event, kind: "member", id: undefined, user, change: "added" };
    }
    if (kind === "delete") return by === user ? { ...event, for: "me" } : undefined;
    if (kind === "retract") return { ...event, kind: "delete", for: "everyone" };
    if (kind === "pin" || kind === "unpin") return event;
    if (kind === "restore" && by !== user) return undefined;
    const message = node.messages(conversation, user).find((message) => message.id === id);
    if (!message || kind === "edit" && message.deletedForEveryone) return undefined;
    const { at: sentAt, isHidden: _, ...fields } = message;
    return { ...event, ...fields, at: kind === "message" ? sentAt : at };
}

/**
 * Whether a change makes no difference at a node: a later one of the same kind has arrived before.
 *
 * @param {ModelNode} node
 * @param {ChangeOfModel} change
 */
function isOverridden(node, { at, by, id, kind }) {
    const isPin = kind === "pin" || kind === "unpin";
    if (!isPin && kind !== "delete" && kind !== "restore") return false;
    const kinds = isPin ? ["pin", "unpin"] : ["delete", "restore"];
    return node.log.some((other) =>
        other.id === id && kinds.includes(other.kind) && other.at > at &&
        (isPin || other.by === by)
    );
}

/**
 * The events of what has changed since a vector, each thing once as it is by then.
 *
 * @param {ModelNode} node
 * @param {number[]} since
 * @param {string} user
 */
export function replay(node, since, user) {
    const missed = node.log.filter(({ node, number }) => number > since[node]);
    const events = [];
    const done = new Set();
    for (const change of missed) {
        const { conversation, id, kind } = change;
        const message = node.messages(conversation, user).find((message) => message.id === id);
        if (!message) {
            if (kind === "create") events.push(eventOf(node, change, user));
            continue;
        }
        if (done.has(id)) continue;
        done.add(id);
        const { at, isHidden, ...fields } = message;
        const event = { ...fields, conversation, by: fields.from, at };
        const isNew = missed.some((other) => other.kind === "message" && other.id === id);
        const kinds = new Set(missed.filter((other) => other.id === id).map(({ kind }) => kind));
        const last = (/** @type {string[]} */ ...kinds) =>
            node.log.filter((other) => other.id === id && kinds.includes(other.kind))
                .sort((a, b) => a.at < b.at ? -1 : 1).at(-1);
        if (message.deletedForEveryone) {
            const retract = /** @type {ChangeOfModel} */ (last("retract"));
            events.push({
                kind: "delete",
                conversation,
                by: retract.by,
                at: retract.at,
                id,
                for: "everyone",
            });
        } else if (isHidden) {
            const change = /** @type {ChangeOfModel} */ (last("delete"));
            events.push({ kind: "delete", conversation, by: user, at: change.at, id, for: "me" });
        } else if (isNew) {
            events.push({ ...event, kind: "message" });
        } else {
            for (const kind of ["edit", "restore"]) {
                const change = last(kind);
                if (kinds.has(kind) && change && (kind === "edit" || change.by === user)) {
                    events.push({ ...event, kind, by: change.by, at: change.at });
                }
            }
            const change = last("pin", "unpin");
            if (change && kinds.has(change.kind)) events.push(eventOf(node, change, user));
        }
    }
    return events.filter((event) => event !== undefined);
}
