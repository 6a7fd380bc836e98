/** The entry point of the chat page: it opens the chat client and shows the user interface. */

import { Client } from "../client/client.js";
import { Root } from "./root.js";

/**
 * Returns the addresses of the nodes from `/nodes.json`. If the request fails or the list is empty,
 * it returns only the address of the node that served the page.
 *
 * @returns {Promise<string[]>}
 */
async function findNodes() {
    try {
        const answer = await fetch("/nodes.json");
        const { nodes } = answer.ok ? await answer.json() : { nodes: [] };
        if (nodes.length > 0) return ordered(nodes);
    } catch (error) {
        console.warn("grapevine: no list of nodes:", error);
    }
    return [location.origin];
}

/**
 * Returns the nodes in the order of their use: the node that served the page, since it is
 * reachable, then the others in random order, so that a failed node's clients spread over all
 * others.
 *
 * @param {string[]} nodes
 */
function ordered(nodes) {
    const others = nodes.filter((node) => node !== location.origin);
    const drawn = others.map((node) => ({ node, number: Math.random() }));
    drawn.sort((left, right) => left.number - right.number);
    const own = nodes.filter((node) => node === location.origin);
    return [...own, ...drawn.map(({ node }) => node)];
}

const client = await Client.open({ nodes: await findNodes() });
document.body.replaceChildren(new Root(client).element);

addEventListener("beforeunload", (event) => {
    if (client.isStoringFiles) event.preventDefault();
});

navigator.serviceWorker?.register("/service-worker.js").catch((error) => {
    console.warn("grapevine: no service worker:", error);
});

// A newly activated service worker asks the page which files to cache.
navigator.serviceWorker?.addEventListener("message", (event) => {
    if (event.data?.kind !== "shell") return;
    const files = performance.getEntriesByType("resource")
        .map((entry) => new URL(entry.name))
        .filter((url) => url.origin === location.origin)
        .map((url) => url.pathname);
    event.source?.postMessage({ kind: "shell", files });
});
