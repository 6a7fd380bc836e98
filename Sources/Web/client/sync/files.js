/** The most bytes of files cached in memory. */
const KEPT_BYTES_MAX = 32 << 20;

/** The files of messages: pending uploads, and a memory cache of recently used files. */
export class Files {
    #engine;
    /** The cached files, the most recently used last. @type {Map<string, Blob>} */
    #kept = new Map();
    #keptBytes = 0;

    /** @param {import("./engine.js").Engine} engine */
    constructor(engine) {
        this.#engine = engine;
    }

    /** @param {string} id @param {Blob} blob */
    keep(id, blob) {
        if (this.#kept.delete(id)) this.#keptBytes -= blob.size;
        this.#kept.set(id, blob);
        this.#keptBytes += blob.size;
        for (const [oldest, { size }] of this.#kept) {
            if (this.#keptBytes <= KEPT_BYTES_MAX || oldest === id) break;
            this.#kept.delete(oldest);
            this.#keptBytes -= size;
        }
    }

    /**
     * Adds a file to the cache under a new id, and returns the write that stores it on this device.
     *
     * @param {Blob} blob @returns {{id: string, write: import("../types.js").Write}}
     */
    keepNew(blob) {
        const id = this.#engine.makeID();
        this.keep(id, blob);
        return { id, write: { key: key(id), value: blob } };
    }

    /**
     * Returns a file from the cache, from the store while its upload is pending, or from a node.
     *
     * @param {string} conversation @param {string} id @returns {Promise<Blob>}
     */
    async file(conversation, id) {
        const blob = this.#kept.get(id) ?? await this.#waiting(id) ??
            await this.#download(conversation, id);
        this.keep(id, blob);
        return blob;
    }

    /**
     * Uploads a file from the local store to a node; a repetition under the same id is harmless.
     *
     * @param {string} conversation @param {string} id
     */
    async upload(conversation, id) {
        const blob = await this.#waiting(id);
        if (!blob) throw { code: 404, message: "File not found" };
        await this.#engine.calls.send(
            { method: "PUT", path: path(conversation, id), blob },
            this.#engine.session,
        );
    }

    clear() {
        this.#kept.clear();
        this.#keptBytes = 0;
    }

    /** @param {string} id */
    async #waiting(id) {
        const entry = (await this.#engine.store.read(key(id))).find(([name]) => name === key(id));
        return /** @type {Blob | undefined} */ (entry?.[1]);
    }

    /** @param {string} conversation @param {string} id */
    async #download(conversation, id) {
        const call = { method: "GET", path: path(conversation, id), wantsBlob: true };
        const { blob } = await this.#engine.calls.send(call, this.#engine.session);
        if (!blob) throw { code: 404, message: "File not found" };
        return blob;
    }
}

/** @param {string} id the id of a file that is in the local store until it is uploaded */
function key(id) {
    return `file/${id}`;
}

/** @param {string} conversation @param {string} id */
function path(conversation, id) {
    return `/v1/conversations/${encodeURIComponent(conversation)}/blobs/${encodeURIComponent(id)}`;
}
