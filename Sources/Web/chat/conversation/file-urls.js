/**
 * Addresses of files for `img` and `audio`, made once for each file.
 *
 * A file never changes: its address is kept until 200 others were asked for since, and given back
 * to the browser then.
 */

const cacheMax = 200;

/** @type {Map<string, Promise<string>>} */
const urls = new Map();

/**
 * @param {string} key unique to the file
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
