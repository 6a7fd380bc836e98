import { Client } from "../../Sources/Web/client/client.js";
import { MemoryStore } from "../../Sources/Web/client/store/store.js";
import { SingleTab } from "../../Sources/Web/client/sync/tabs.js";
import { equal } from "../../Sources/Web/client/views/views.js";
import { seededRandom, settle, VirtualClock } from "./clock.js";
import { error, exact, ScriptedNodes } from "./scripted.js";

/** @typedef {{name: string, given?: Record<string, any>, steps: Record<string, any>[]}} Scenario */
/** @typedef {import("../../Sources/Web/client/types.js").Message} Message */
/** @typedef {import("../../Sources/Web/client/types.js").Chat} Chat */
/** @typedef {import("../../Sources/Web/client/types.js").Item} Item */

/** The seconds of `T100`, at which the client starts. */
const START = 100;
/** Seconds until the first step. */
const LOADING = 10;
/** Milliseconds in which what a step has caused has happened. */
const STEP_MILLISECONDS = 60;
/** Milliseconds after which a request is missed. */
const PATIENCE_MILLISECONDS = 10_000;

/** A run of a scenario of `Tests/client/scenarios` by the browser's client. */
export class ScenarioRun {
    #clock = new VirtualClock();
    #zero = this.#clock.now() - START * 1_000;
    #random = seededRandom(1);
    #store = new MemoryStore();
    #syncStore = new Map();
    /** The ids of what the client has made, by their names in the scenario. @type {Map<string, string>} */
    #ids = new Map();
    /** The codes of the refusals that were told, since they were last checked. @type {number[]} */
    #refused = [];
    #isViewing = false;
    #nodes;
    #steps;
    /** @type {Client | undefined} */
    #client;

    /** @param {Record<string, any>} world what nodes have at first @param {Scenario} scenario */
    constructor(world, { given, steps }) {
        this.#nodes = new ScriptedNodes(this.#clock, this.#timed({ ...world, ...given }));
        this.#steps = steps;
    }

    /** Performs the steps; throws at the first that does not hold. */
    async run() {
        await this.#start();
        this.client.signUp("alice@example.org", "walnut-lantern");
        await this.#clock.pass(STEP_MILLISECONDS);
        this.client.openConversation("lunch");
        await this.#clock.pass(this.#zero + (START + LOADING) * 1_000 - this.#clock.now());
        this.#nodes.reads = [];
        this.#nodes.told = [];
        for (const [index, step] of this.#steps.entries()) {
            const wrong = await this.#perform(step) ?? this.#nodes.violations[0];
            if (wrong) throw new Error(`step ${index + 1} ${JSON.stringify(step)}: ${wrong}`);
        }
        this.client.close();
    }

    get client() {
        return /** @type {Client} */ (this.#client);
    }

    async #start() {
        const opening = Client.open({
            nodes: ["http://n0", "http://n1"],
            store: this.#store,
            syncStore: this.#syncStore,
            tabs: new SingleTab(),
            transport: this.#nodes.transport,
            clock: this.#clock,
            random: this.#random,
        });
        await this.#clock.pass(STEP_MILLISECONDS);
        const client = this.#client = await opening;
        client.isVisible = this.#isViewing;
        client.subscribe((change) => {
            if (change.kind === "refused") this.#refused.push(change.error.code);
        });
        if (client.user) client.openConversation("lunch").catch(() => {});
    }

    /**
     * Performs a step.
     *
     * @param {Record<string, any>} named @returns {Promise<string | undefined>} what is wrong
     */
    async #perform(named) {
        const step = this.#timed(named);
        const nodes = this.#nodes;
        if ("do" in step) return this.#act(step);
        if ("wait" in step) await this.#clock.pass(step.wait);
        else if ("event" in step) nodes.tell({ conversation: "lunch", by: "u-bob", ...step.event });
        else if ("nodes" in step) this.#change(step.nodes);
        else if ("answer" in step) return this.#answer(step);
        else if ("cut" in step) nodes.cut();
        else if ("network" in step) nodes.isUp = step.network;
        else if ("restart" in step) await this.#restart();
        else return this.#check(named);
        await this.#clock.pass(STEP_MILLISECONDS);
        return undefined;
    }

    async #restart() {
        this.client.close();
        await this.#start();
    }

    /** @param {Record<string, any>} change what nodes have from here on */
    #change({ lags, message, refusesTokens, row, ...rest }) {
        const { world } = this.#nodes;
        if (lags !== undefined) this.#nodes.lags = lags;
        if (refusesTokens !== undefined) this.#nodes.refusesTokens = refusesTokens;
        Object.assign(world, rest);
        if (message) merge(world.messages.lunch, message);
        if (row) merge(world.chats, { id: "lunch", ...row });
    }

    /** @param {Record<string, any>} step the action, and the code with which it is refused at once */
    async #act({ do: [kind, ...parts], fails }) {
        let code;
        const note = (/** @type {any} */ failure) => code = failure.code ?? failure.message;
        try {
            const made = actions[kind](this.client, parts, this);
            if (made instanceof Promise) made.catch(note);
            else if (typeof made === "string") this.#ids.set(parts[0], made);
        } catch (failure) {
            note(failure);
        }
        await settle();
        return code === fails ? undefined : `it fails with ${code}`;
    }

    /** @param {boolean} isViewing whether the user looks at the conversation */
    view(isViewing) {
        this.#isViewing = this.client.isVisible = isViewing;
    }

    /**
     * @param {Record<string, any>} step the status, 0 for an answer that is lost, and parts of the body
     * @returns {Promise<string | undefined>}
     */
    async #answer({ answer: status, at, reason }) {
        const nodes = this.#nodes;
        await this.#wait(() => nodes.held.length > 0);
        const [held] = nodes.held;
        if (!held) return "no write is held";
        const time = held.call.operation?.slice(-30) ?? nodes.now;
        if (status === 200) {
            nodes.answerFirst({ status, body: { at: at ?? time }, token: nodes.token });
        } else if (status > 0) {
            const refusal = error(status, "", reason);
            refusal.body.error.now = nodes.now;
            nodes.answerFirst(refusal);
        } else {
            nodes.answerFirst();
        }
        await this.#clock.pass(STEP_MILLISECONDS);
        return undefined;
    }

    /** Has time pass until something holds. @param {() => boolean} condition */
    async #wait(condition) {
        await this.#clock.pass(STEP_MILLISECONDS);
        for (let time = 0; time < PATIENCE_MILLISECONDS; time += STEP_MILLISECONDS) {
            if (condition()) return;
            await this.#clock.pass(STEP_MILLISECONDS);
        }
    }

    /** Compares what a step names with what there is. @param {Record<string, any>} step */
    async #check(step) {
        const [name, expected] = Object.entries(step)[0];
        const of = this.#ids.get(step.of) ?? step.of ?? "lunch";
        const found = () => this.#named(checks[name](this.client, this.#nodes, of, this.#refused));
        if (name === "asks") await this.#wait(() => equal(found(), expected));
        if (name === "reads" || name === "told") await this.#clock.pass(STEP_MILLISECONDS);
        const actual = found();
        return equal(actual, expected) ? undefined : `it is ${JSON.stringify(actual)}`;
    }

    /**
     * Replaces names of times and of what the client has made by what they stand for.
     *
     * @template T @param {T} value @returns {T}
     */
    #timed(value) {
        const text = JSON.stringify(value, (_, part) => {
            const [, second, count = "0"] = /^T(\d+)(?:\+(\d+))?$/.exec(part) ?? [];
            if (second === undefined) return part;
            const time = exact(this.#zero + Number(second) * 1_000);
            return time.replace("000000Z", `${count.padStart(6, "0")}Z`);
        });
        return JSON.parse(
            text.replace(
                /"(\$\w+)"/g,
                (all, name) => this.#ids.has(name) ? `"${this.#ids.get(name)}"` : all,
            ),
        );
    }

    /**
     * Replaces times, and what the client has made, by their names.
     *
     * @template T @param {T} value @returns {T}
     */
    #named(value) {
        let text = JSON.stringify(value).replace(
            /\d{4}-\d\d-\d\dT[\d:.]+Z/g,
            (time) => `T${(Date.parse(time) - this.#zero) / 1_000}`,
        );
        for (const [name, id] of this.#ids) text = text.replaceAll(id, name);
        return JSON.parse(text);
    }
}

/** @param {any[]} list @param {any} element its id, and the fields that are new */
function merge(list, element) {
    const known = list.find(({ id }) => id === element.id);
    if (known) Object.assign(known, element);
    else list.push(element);
}

/** @type {Record<string, (client: Client, parts: any[], run: ScenarioRun) => unknown>} */
const actions = {
    send: (client, [_, text]) => client.send("lunch", text),
    edit: (client, [message, text]) => client.edit("lunch", message, text),
    delete: (client, [message]) => client.deleteForMe("lunch", message),
    deleteForEveryone: (client, [message]) => client.deleteForEveryone("lunch", message),
    restore: (client, [message]) => client.restore("lunch", message),
    pin: (client, [message]) => client.pin("lunch", message),
    unpin: (client, [message]) => client.unpin("lunch", message),
    archive: (client) => client.archive("lunch"),
    unarchive: (client) => client.unarchive("lunch"),
    hide: (client) => client.hide("lunch"),
    leave: (client) => client.leave("lunch"),
    create: (client, [_, title, emails]) => {
        client.createConversation({ title, emails }).catch(() => {});
        return client.chats().find((chat) => chat.title === title)?.id;
    },
    addItem: (client, [_, title]) => client.addItem({ title }),
    editItem: (client, [item, changes]) => client.editItem(item, changes),
    completeItem: (client, [item, isDone]) => client.setItemDone(item, isDone),
    deleteItem: (client, [item]) => client.deleteItem(item),
    setName: (client, [name]) => client.setProfile({ name }),
    view: (_, [isViewing], run) => run.view(isViewing),
    type: (client, [isTyping]) => client.setTyping("lunch", isTyping),
    loadEarlier: (client) => client.loadEarlier("lunch"),
};

/** @type {Record<string, (client: Client, nodes: ScriptedNodes, of: string, refused: number[]) => any>} */
const checks = {
    shows: (client, _, of) => client.conversation(of).messages.map(messageText),
    pins: (client, _, of) => client.conversation(of).pins.map(({ id }) => id),
    lists: (client) => [...client.chats(), ...client.chats({ archived: true })].map(chatText),
    items: (client) => client.items().map(itemText),
    name: (client) => client.profile("u-alice")?.name ?? "",
    typing: (client) => client.conversation("lunch").typing,
    online: (client) => client.connection === "online",
    hasEarlier: (client) => client.conversation("lunch").hasEarlier,
    refused: (_client, _nodes, _of, refused) => refused.splice(0),
    asks: (_, { held }) => held.map(({ call }) => requestText(call)).sort(),
    reads: (_, nodes) => nodes.reads.splice(0).length > 0,
    told: (_, nodes) => nodes.told.splice(0),
};

/** @param {Message} message */
function messageText({ deletedForEveryone, edited, id, pinnedBy, state, text }) {
    const flags = [edited && "edited", pinnedBy && `pinned by ${pinnedBy}`];
    const words = [id, deletedForEveryone ? "deleted" : text, ...flags];
    return [...words, state !== "sent" && state].filter(Boolean).join(" ");
}

/** @param {Chat} chat */
function chatText({ id, isArchived, lastText, unread }) {
    const flags = [unread > 0 && `${unread} unread`, isArchived && "archived"];
    return [`${id}: ${lastText}`, ...flags].filter(Boolean).join(", ");
}

/** @param {Item} item */
function itemText({ due, id, isDone, isWaiting, priority, title }) {
    const flags = [due && `due ${due}`, priority, isDone && "done", isWaiting && "waiting"];
    return [`${id} ${title}`, ...flags].filter(Boolean).join(", ");
}

/** @param {import("../../Sources/Web/client/types.js").Call} call */
function requestText({ body, method, path }) {
    const parts = Object.entries(body ?? {}).filter(([name]) => name !== "id" && name !== "type")
        .map(([name, value]) =>
            `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`
        );
    return [method, path.replace("conversations/lunch/", ""), ...parts.sort()].join(" ");
}
