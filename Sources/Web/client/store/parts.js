import {
    browserSyncStore,
    browserTransport,
    systemClock,
    systemRandom,
} from "../network/browser.js";
import { BrowserTabs, SingleTab } from "../sync/tabs.js";
import { IndexedDBStore } from "./indexeddb.js";
import { MemoryStore } from "./store.js";

/** @typedef {import("../types.js").Store} Store */
/** @typedef {import("../types.js").SyncStore} SyncStore */
/** @typedef {import("../types.js").Tabs} Tabs */

/**
 * The options of a client: the node addresses, and replacements for browser facilities, for tests
 * and for programs outside a browser.
 *
 * @typedef {{nodes: string[], store?: Store, syncStore?: SyncStore, tabs?: Tabs,
 *   transport?: import("../types.js").Transport, clock?: import("../types.js").Clock,
 *   random?: () => number}} Options
 */

const NAME = "grapevine";
const LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789";
/** The length of an id: 20 letters of an alphabet of 36 have 103 bits of entropy. */
const ID_LETTERS = 20;

/** Returns the options, with the browser's facilities as defaults. @param {Options} options */
export async function completeOptions(options) {
    const random = options.random ?? systemRandom;
    const letter = () => LETTERS[Math.floor(random() * LETTERS.length)];
    return {
        nodes: options.nodes,
        store: options.store ?? await openStore(),
        syncStore: options.syncStore ?? (options.store ? new Map() : openSyncStore()),
        tabs: options.tabs ?? openTabs(),
        transport: options.transport ?? browserTransport,
        clock: options.clock ?? systemClock,
        random,
        makeID: () => Array.from({ length: ID_LETTERS }, letter).join(""),
    };
}

/** @returns {Promise<Store>} */
async function openStore() {
    if (typeof indexedDB === "undefined") return new MemoryStore();
    try {
        return await IndexedDBStore.open(NAME);
    } catch (error) {
        // Some browsers have no IndexedDB in private windows; data then lasts as long as the page.
        console.warn("This device stores nothing:", error);
        return new MemoryStore();
    }
}

/** @returns {SyncStore} */
function openSyncStore() {
    try {
        // Even reading `localStorage` throws if the user has disabled storage.
        return typeof localStorage === "undefined" ? new Map() : browserSyncStore;
    } catch {
        return new Map();
    }
}

/** @returns {Tabs} */
function openTabs() {
    const areThere = typeof BroadcastChannel !== "undefined" && globalThis.navigator?.locks;
    return areThere ? new BrowserTabs(NAME) : new SingleTab();
}
