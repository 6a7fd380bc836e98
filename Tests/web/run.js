import { Client } from "../../Sources/Web/client/client.js";
import { ModelBrowser } from "./tabs.js";
import { ModelCluster } from "./cluster.js";
import { ModelDisk } from "./disk.js";
import { assert } from "./assertions.js";
import { seededRandom, VirtualClock } from "./clock.js";

const CHAT = "lunch";
/** Actions of one run, of which each is followed by up to a second. */
const ACTIONS = 500;
/** Milliseconds within which a tab is closed that is closed right after an action. */
const CLOSING_MILLISECONDS = 60;
/** Milliseconds in which everything has to be in sync after the network has healed. */
const HEALING_MILLISECONDS = 240_000;

/** A tab of a user, and what it has shown. */
class Tab {
    /** @type {Client | undefined} */
    client;
    /** Own messages that have to be in view. @type {Set<string>} */
    expected = new Set();
    /** Messages that were deleted in this view, and may not return. @type {Set<string>} */
    gone = new Set();
    /** Messages that this view has shown. @type {Set<string>} */
    seen = new Set();
    /** Messages that it has shown as deleted for everyone. @type {Set<string>} */
    retracted = new Set();
    line = { isUp: true };
    /** @type {ReturnType<ModelDisk["open"]> | undefined} */
    disk;

    /**
     * @param {string} name
     * @param {Device} device
     */
    constructor(name, device) {
        this.name = name;
        this.device = device;
    }
}

/** @typedef {{user: string, browser: ModelBrowser, disk: ModelDisk, deleted: Set<string>,
 *   tabs: Tab[]}} Device */

/** One run of the model test: three tabs of two users at a cluster that fails. */
export class Run {
    clock = new VirtualClock();
    /** Texts that were sent, each once. @type {Map<string, string>} */
    sent = new Map();
    #count = 0;

    /** @param {number} seed */
    constructor(seed) {
        this.random = seededRandom(seed);
        this.cluster = new ModelCluster(this.clock, this.random);
        /** @type {Device[]} */
        this.devices = ["alice", "bob"].map((user) => ({
            user,
            browser: new ModelBrowser(),
            disk: new ModelDisk(this.clock, seededRandom(seed + user.length)),
            deleted: new Set(),
            tabs: [],
        }));
        const [alice, bob] = this.devices;
        alice.tabs.push(new Tab("alice 1", alice), new Tab("alice 2", alice));
        bob.tabs.push(new Tab("bob", bob));
    }

    /** @param {Tab} tab */
    async open(tab) {
        const { browser, disk } = tab.device;
        tab.disk = disk.open();
        const pending = Client.open({
            nodes: this.#shuffled(this.cluster.addresses),
            store: tab.disk,
            syncStore: tab.disk.syncStore,
            tabs: browser.open(),
            transport: this.cluster.transport(tab.line),
            clock: this.clock,
            random: this.random,
        });
        let isOpen = false;
        pending.then(() => isOpen = true, () => isOpen = true);
        while (!isOpen) await this.clock.pass(1);
        const client = await pending;
        tab.client = client;
        if (client.user) client.openConversation(CHAT);
        client.subscribe(() => this.check(tab));
        return client;
    }

    /** @param {Tab} tab */
    close(tab) {
        tab.disk?.close();
        tab.client?.close();
        tab.client = undefined;
        // Another opening shows what is stored, which may be older than what others' events said.
        tab.retracted.clear();
    }

    /** Signs the users up, and has all tabs open. */
    async begin() {
        this.cluster.isCalm = true;
        for (const device of this.devices) {
            const client = await this.open(device.tabs[0]);
            client.signUp(`${device.user}@example.org`, "walnut-lantern");
            await this.clock.pass(1_000);
        }
        this.cluster.create(CHAT, ["u-alice", "u-bob"]);
        await this.open(this.devices[0].tabs[1]);
        for (const tab of this.tabs) tab.client?.openConversation(CHAT);
        await this.clock.pass(1_000);
        this.cluster.isCalm = false;
    }

    get tabs() {
        return this.devices.flatMap(({ tabs }) => tabs);
    }

    /** Has the users act while the network, the nodes and the tabs fail. */
    async act() {
        for (let step = 0; step < ACTIONS; step += 1) {
            const tab = this.#one(this.tabs);
            await this.#act(tab);
            if (this.random() < 0.1) await this.#closeSoon(tab);
            await this.clock.pass(this.random() * 1_000, () => this.checkAll());
        }
    }

    /** Heals everything, and waits until all is in sync. */
    async heal() {
        this.cluster.isCalm = true;
        for (let index = 0; index < this.cluster.nodes.length; index += 1) {
            this.cluster.start(index);
        }
        for (const tab of this.tabs) {
            tab.line.isUp = true;
            if (!tab.client) await this.open(tab);
        }
        for (let time = 0; time < HEALING_MILLISECONDS; time += 1_000) {
            this.cluster.replicate();
            await this.clock.pass(1_000, () => this.checkAll());
        }
    }

    checkAll() {
        for (const tab of this.tabs) this.check(tab);
    }

    /** @param {Tab} tab */
    check(tab) {
        if (!tab.client) return;
        assert(tab.client.connection !== "signedOut", `${tab.name} was signed out`);
        const { messages } = tab.client.conversation(CHAT);
        const ids = new Set(messages.map(({ id }) => id));
        assert(ids.size === messages.length, `${tab.name} shows a message twice`);
        for (const id of tab.expected) {
            // A hiding that waited hides what was sent until nodes execute it.
            if (!ids.has(id) && this.#isCleared(id, tab)) tab.expected.delete(id);
            else assert(ids.has(id), `${id} flickers at ${tab.name}`);
        }
        for (const id of tab.gone) assert(!ids.has(id), `${id} reappears at ${tab.name}`);
        for (const id of tab.device.deleted) {
            if (!ids.has(id) && tab.seen.has(id)) tab.gone.add(id);
        }
        for (const id of ids) tab.seen.add(id);
        for (const { deletedForEveryone, id } of messages) {
            if (deletedForEveryone) tab.retracted.add(id);
            else assert(!tab.retracted.has(id), `The text of ${id} reappears at ${tab.name}`);
        }
    }

    /**
     * Whether a message was sent before the user has hidden the conversation.
     *
     * @param {string} id
     * @param {Tab} tab
     */
    #isCleared(id, tab) {
        return this.cluster.nodes.some((node) => {
            const end = node.lastHiding(CHAT, `u-${tab.device.user}`) ?? "";
            return node.log.some((change) => change.id === id && change.at <= end);
        });
    }

    /** Compares all views with all nodes. */
    checkEnd() {
        this.checkAll();
        const [first] = this.cluster.nodes;
        for (const node of this.cluster.nodes) {
            assert(`${node.vector}` === `${first.vector}`, "The nodes are not in sync");
        }
        const texts = first.log.filter(({ kind }) => kind === "message");
        for (const [id, text] of this.sent) {
            const copies = texts.filter((change) => change.text === text);
            assert(copies.length > 0, `${id} was lost`);
            // Two nodes may have accepted one message, which its id makes one.
            assert(copies.every((copy) => copy.id === id), `${id} was sent twice`);
        }
        for (const tab of this.tabs) this.#checkView(tab);
        assert(this.cluster.stolen === 0, "A refresh token was used twice");
        const { disordered, misnamed } = this.cluster;
        assert(misnamed.length === 0, `Operations are misnamed:\n${misnamed.join("\n")}`);
        assert(disordered.length === 0, `Times go back: ${JSON.stringify(disordered)}`);
        for (const { disk } of this.devices) {
            const left = [...disk.entries.keys()].filter((key) => key.startsWith("operation/"));
            assert(left.length === 0, `Operations are left: ${left}`);
            assert(disk.texts.size === 0, `The log has ${[...disk.texts.keys()]}`);
            assert(disk.returned.length === 0, `${disk.returned} was over, and is sent again`);
        }
    }

    /** @param {Tab} tab */
    #checkView(tab) {
        const client = /** @type {Client} */ (tab.client);
        const user = `u-${tab.device.user}`;
        const line = (/** @type {any} */ { at, id, pinnedBy, text }) =>
            `${at} ${id} ${text}${pinnedBy ? ` pinned by ${pinnedBy}` : ""}`;
        const told = this.cluster.nodes[0].messages(CHAT, user);
        const expected = told.filter(({ isHidden }) => !isHidden).map(line);
        const { hasEarlier, messages } = client.conversation(CHAT);
        const actual = messages.map(line);
        const shown = hasEarlier ? expected.slice(-actual.length) : expected;
        const extra = actual.filter((line) => !shown.includes(line));
        const missing = shown.filter((line) => !actual.includes(line));
        assert(
            extra.length + missing.length === 0,
            `${tab.name} shows\n${extra.join("\n")}\ninstead of\n${missing.join("\n")}`,
        );
        assert(actual.join() === shown.join(), `${tab.name} shows another order`);
        const waiting = client.conversation(CHAT).messages.filter((m) => m.state === "waiting");
        assert(waiting.length === 0, `${tab.name} still waits`);
    }

    /**
     * Closes a tab while what was just done is on its way into the store.
     *
     * @param {Tab} tab
     */
    async #closeSoon(tab) {
        const milliseconds = this.random() * CLOSING_MILLISECONDS;
        if (this.random() < 0.7) await this.clock.pass(milliseconds, () => this.checkAll());
        this.close(tab);
        const isLast = tab.device.tabs.every(({ client }) => !client);
        if (isLast && this.random() < 0.5) tab.device.disk.fail();
    }

    /** @param {Tab} tab */
    async #act(tab) {
        const dice = this.random();
        if (dice < 0.2) this.cluster.replicate();
        if (dice < 0.3) return this.#fail(tab, this.random());
        const { client } = tab;
        if (!client) return void await this.open(tab);
        const { messages } = client.conversation(CHAT);
        const quiet = (/** @type {Promise<void>} */ promise) => void promise.catch(() => {});
        if (dice < 0.6 || messages.length === 0) return this.#send(tab, client);
        const message = this.#one(messages);
        if (dice < 0.7) {
            if (message.isMine) quiet(client.edit(CHAT, message.id, `edit ${this.#count += 1}`));
        } else if (dice < 0.8) {
            quiet(message.pinnedBy ? client.unpin(CHAT, message.id) : client.pin(CHAT, message.id));
        } else if (dice < 0.85) {
            this.#delete(tab, message.id);
            quiet(client.deleteForMe(CHAT, message.id));
        } else if (dice < 0.9 && message.isMine) {
            this.#delete(tab, message.id);
            quiet(client.deleteForEveryone(CHAT, message.id));
        } else if (dice < 0.95) {
            quiet(client.loadEarlier(CHAT));
        } else if (dice > 0.985) {
            for (const { expected } of tab.device.tabs) expected.clear();
            quiet(client.hide(CHAT));
        }
        this.check(tab);
    }

    /**
     * @param {Tab} tab
     * @param {Client} client
     */
    #send(tab, client) {
        const text = `text ${this.#count += 1}`;
        const id = client.send(CHAT, text);
        // It is shown: whatever happens to the tab from here on, it is sent.
        this.sent.set(id, text);
        tab.expected.add(id);
        this.check(tab);
    }

    /**
     * @param {Tab} tab
     * @param {string} id
     */
    #delete(tab, id) {
        tab.device.deleted.add(id);
        for (const other of tab.device.tabs) other.expected.delete(id);
    }

    /**
     * @param {Tab} tab
     * @param {number} dice
     */
    async #fail(tab, dice) {
        const index = Math.floor(this.random() * this.cluster.nodes.length);
        if (dice < 0.6) tab.line.isUp = !tab.line.isUp;
        else if (dice < 0.75) this.cluster.kill(index);
        else if (dice < 0.9) this.cluster.start(index);
        else if (tab.client) this.close(tab);
        await this.clock.pass(0);
    }

    /**
     * @template T
     * @param {T[]} list
     * @returns {T}
     */
    #one(list) {
        return list[Math.floor(this.random() * list.length)];
    }

    /** @param {string[]} list */
    #shuffled(list) {
        return list.map((value) => [this.random(), value]).sort()
            .map(([, value]) => String(value));
    }
}
