/**
 * Profile pictures. A profile's `photo` is a picture as a data URL of at most 1,024 bytes, so that
 * lists of profiles stay small.
 *
 * The page's Content Security Policy forbids images from data URLs, so each picture is shown
 * through a blob URL.
 */

const photoBytesMax = 1024;
const prefix = /^data:(image\/(?:webp|jpeg|png));base64,([A-Za-z0-9+/=]+)$/;
/**
 * Picture sizes in pixels and WebP qualities; the first pair that gives at most 1,024 bytes is
 * used.
 */
const attempts = [[64, 0.5], [56, 0.4], [48, 0.4], [48, 0.2], [40, 0.2], [32, 0.2], [24, 0.1]];
const cacheMax = 500;

/** @type {Map<string, string>} */
const urls = new Map();

/**
 * Returns a blob URL of a picture for an `img`; undefined for a `photo` that is not a picture data
 * URL, such as a URL of another host, to which the page must not send requests.
 *
 * @param {string} photo
 */
export function pictureURL(photo) {
    const known = urls.get(photo);
    if (known) return known;
    const parts = prefix.exec(photo);
    if (!parts) return undefined;
    let url;
    try {
        const bytes = Uint8Array.from(atob(parts[2]), (letter) => letter.charCodeAt(0));
        url = URL.createObjectURL(new Blob([bytes], { type: parts[1] }));
    } catch {
        return undefined;
    }
    if (urls.size >= cacheMax) forgetOldest();
    urls.set(photo, url);
    return url;
}

function forgetOldest() {
    const [oldest] = urls;
    URL.revokeObjectURL(oldest[1]);
    urls.delete(oldest[0]);
}

/**
 * Returns a profile picture made from the central square of an image file, as a data URL within the
 * size limit.
 *
 * @param {Blob} file
 * @returns {Promise<string>}
 */
export async function makePicture(file) {
    const image = await createImageBitmap(file);
    const side = Math.min(image.width, image.height);
    const [left, top] = [(image.width - side) / 2, (image.height - side) / 2];
    for (const [size, quality] of attempts) {
        const canvas = new OffscreenCanvas(size, size);
        canvas.getContext("2d")?.drawImage(image, left, top, side, side, 0, 0, size, size);
        const text = await dataURL(await canvas.convertToBlob({ type: "image/webp", quality }));
        if (text.length <= photoBytesMax) return text;
    }
    throw new Error("no picture of this file is small enough");
}

/** @param {Blob} blob */
async function dataURL(blob) {
    const bytes = new Uint8Array(await blob.arrayBuffer());
    return `data:${blob.type};base64,${btoa(String.fromCharCode(...bytes))}`;
}
