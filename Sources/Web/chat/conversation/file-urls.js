/**
 * A cache of blob URLs of files, for `img` and `audio` elements.
 *
 * A file never changes, so its URL is cached. Once 200 other files have been requested after the
 * last request for the file, its URL is revoked.
 */

const cacheMax = 200;

/** @type {Map<string, Promise<string>>} */
const urls = new Map();

/**
 * @param {string} key a key that is unique to the file
 * @param {() => Promise<Blob>} load
 * @returns {Promise<string>}
 */
export function fileURL(key, load) {
    const known = urls.get(key);
    if (known) {
        urls.delete(key);
        urls.set(key, known);
        return known;
    }
    const url = load().then((blob) => URL.createObjectURL(blob));
    urls.set(key, url);
    url.catch(() => urls.delete(key));
    if (urls.size > cacheMax) forgetOldest();
    return url;
}

function forgetOldest() {
    for (const [key, url] of urls) {
        urls.delete(key);
        url.then((text) => URL.revokeObjectURL(text), () => {});
        return;
    }
}
