/**
 * A model of the cluster's data: each node has the changes that have reached it, and what a user
 * sees follows from these. Changes of one node reach another in their order.
 */

/**
 * @typedef {{node: number, number: number, at: string, by: string, conversation: string,
 *   kind: string, id?: string, text?: string, user?: string,
 *   title?: string, operation?: string, seen?: number[]}} ChangeOfModel
 */

/**
 * Returns a time with nine digits after the second.
 *
 * @param {number} milliseconds
 * @param {number} count the place among the changes of one millisecond
 */
function exact(milliseconds, count) {
    const digits = String(count).padStart(6, "0");
    return new Date(milliseconds).toISOString().replace("Z", `${digits}Z`);
}

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
    /** The time of the last change. */
    #last = exact(0, 0);

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
     * @param {Omit<ChangeOfModel, "node" | "number" | "at">} fields
     * @param {number} now
     */
    accept(fields, now) {
        const number = this.vector[this.index] + 1;
        const at = fields.operation?.slice(-30) ?? this.#nextTime(now);
        // A hiding hides what its node has.
        const seen = fields.kind === "hide" ? [...this.vector] : undefined;
        const change = { ...fields, node: this.index, number, at, seen };
        this.receive(change);
        return change;
    }

    /** @param {number} now */
    #nextTime(now) {
        const time = exact(Math.floor(now), 0);
        if (time > this.#last) return time;
        return exact(Date.parse(this.#last), Number(this.#last.slice(23, 29)) + 1);
    }

    /**
     * Whether a change makes no difference, since another node has executed the same operation.
     *
     * @param {ChangeOfModel} change
     */
    isAgain(change) {
        const { kind, operation } = change;
        // Each node that executes a hiding hides what it has.
        return operation !== undefined && kind !== "hide" &&
            this.log.some((other) => other !== change && other.operation === operation);
    }

    /** @param {ChangeOfModel} change */
    receive(change) {
        if (change.number !== this.vector[change.node] + 1) return;
        this.vector[change.node] = change.number;
        if (change.at > this.#last) this.#last = change.at;
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
        changes.sort((a, b) => a.at === b.at ? a.node - b.node : a.at < b.at ? -1 : 1);
        for (const change of changes) {
            if (change.kind !== "message" || found.has(change.id ?? "")) continue;
            const { id, by: from, at, text } = change;
            found.set(id ?? "", { id, from, at, type: "text", text });
        }
        for (const change of changes) {
            const message = found.get(change.id ?? "");
            if (message) applyChange(message, change, user);
        }
        const hidings = changes.filter(({ by, kind }) => kind === "hide" && by === user);
        for (const message of found.values()) {
            // Two nodes may have accepted one message.
            const copies = changes.filter(({ id, kind }) =>
                kind === "message" && id === message.id
            );
            const isCleared = copies.every((copy) =>
                hidings.some(({ at, seen = [] }) => copy.number <= seen[copy.node] && copy.at <= at)
            );
            if (isCleared) Object.assign(message, { isHidden: true, isCleared });
        }
        const list = [...found.values()];
        return list.sort((a, b) => a.at === b.at ? (a.id < b.id ? -1 : 1) : a.at < b.at ? -1 : 1);
    }

    /**
     * The last time at which a user hid a conversation, as far as this node knows.
     *
     * @param {string} conversation
     * @param {string} user
     */
    lastHiding(conversation, user) {
        return this.log.filter((change) =>
            change.kind === "hide" && change.by === user && change.conversation === conversation
        ).map(({ at }) => at).sort().at(-1);
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
        const isHidden = shown.length === 0 && this.lastHiding(conversation, user) !== undefined;
        const last = shown.filter(({ deletedForEveryone }) => !deletedForEveryone).at(-1);
        return {
            ...{ id: conversation, title, createdAt, participants: users?.split(",").sort() },
            unread: 0,
            ...(isHidden ? { hidden: true } : {}),
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
    if (kind === "delete" && by === user) Object.assign(message, { isHidden: true, hiddenAt: at });
    if (kind === "restore" && by === user) {
        Object.assign(message, { isHidden: isGone && message.from === user, restoredAt: at });
    }
    if (kind === "pin" && !isGone) {
        Object.assign(message, { pinnedBy: by, pinnedAt: at, unpinnedAt: undefined });
    }
    if (kind === "unpin") {
        Object.assign(message, { pinnedBy: undefined, pinnedAt: undefined, unpinnedAt: at });
    }
    if (kind !== "retract") return;
    const none = { edited: undefined, pinnedBy: undefined, pinnedAt: undefined };
    const deleted = { text: "[Message deleted]", deletedForEveryone: true, deletedAt: at };
    Object.assign(message, none, deleted);
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
    if (kind === "create") return { kind: "member", conversation, by, at, user, change: "added" };
    if (kind === "hide") {
        return by === user
            ? { kind, conversation, by, at: node.lastHiding(conversation, user) }
            : undefined;
    }
    const message = node.messages(conversation, user).find((message) => message.id === id);
    if (!message || message.isCleared) return undefined;
    const { at: sent, isHidden: _, ...fields } = message;
    const event = { kind, conversation, by, at, id, sent };
    if (kind === "delete") return by === user ? { ...event, for: "me" } : undefined;
    if (kind === "retract") return { ...event, kind: "delete", for: "everyone" };
    if (kind === "pin" || kind === "unpin") return event;
    if (kind === "restore" && by !== user) return undefined;
    if (kind === "edit" && message.deletedForEveryone) return undefined;
    return { ...event, ...fields, at: kind === "message" ? sent : at };
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
            if (kind === "create" || kind === "hide") events.push(eventOf(node, change, user));
            continue;
        }
        if (done.has(id) || message.isCleared) continue;
        done.add(id);
        const { at: sent, isHidden, ...fields } = message;
        const event = { ...fields, conversation, by: fields.from, at: sent, sent };
        const isNew = missed.some((other) => other.kind === "message" && other.id === id);
        const kinds = new Set(missed.filter((other) => other.id === id).map(({ kind }) => kind));
        const last = (/** @type {string[]} */ ...kinds) =>
            node.log.filter((other) => other.id === id && kinds.includes(other.kind))
                .sort((a, b) => a.at < b.at ? -1 : 1).at(-1);
        const deletion = { kind: "delete", conversation, id, sent };
        if (message.deletedForEveryone) {
            const { at, by } = /** @type {ChangeOfModel} */ (last("retract"));
            events.push({ ...deletion, by, at, for: "everyone" });
        } else if (isHidden) {
            events.push({ ...deletion, by: user, at: message.hiddenAt, for: "me" });
        } else if (isNew) {
            events.push({ ...event, kind: "message" });
        } else {
            for (const kind of ["edit", "restore"]) {
                const change = last(kind);
                if (kinds.has(kind) && change && (kind === "edit" || change.by === user)) {
                    events.push({ ...event, kind, by: change.by, at: change.at });
                }
            }
        }
        const pin = last("pin", "unpin");
        if (pin && kinds.has(pin.kind) && !message.deletedForEveryone) {
            events.push(eventOf(node, pin, user));
        }
    }
    return events.filter((event) => event !== undefined);
}
