/** The most bytes that the cluster accepts as a file's preview. */
const previewBytesMax = 16 * 1024;
const attempts = [[480, 0.6], [360, 0.5], [240, 0.5], [160, 0.4]];

/**
 * Returns a thumbnail of a photo; undefined if the browser cannot decode the photo or no thumbnail
 * size fits the limit of 16 KiB.
 *
 * @param {Blob} file
 * @returns {Promise<Blob | undefined>}
 */
export async function makeThumbnail(file) {
    try {
        const image = await createImageBitmap(file);
        for (const [side, quality] of attempts) {
            const scale = Math.min(1, side / Math.max(image.width, image.height));
            const width = Math.max(1, Math.round(image.width * scale));
            const height = Math.max(1, Math.round(image.height * scale));
            const canvas = new OffscreenCanvas(width, height);
            canvas.getContext("2d")?.drawImage(image, 0, 0, width, height);
            const blob = await canvas.convertToBlob({ type: "image/webp", quality });
            if (blob.size <= previewBytesMax) return blob;
        }
    } catch (error) {
        console.warn("grapevine: no preview of a photo:", error);
    }
    return undefined;
}
