import { makeThumbnail } from "./thumbnail.js";

/** The JPEG quality for re-encoding a picture without a visible loss. */
const quality = 0.92;
/** The most pixels of a canvas that every browser supports. */
const pixelsMax = 16_000_000;

/** The PNG chunks that contain metadata. */
const notesOfPNG = new Set(["eXIf", "tEXt", "zTXt", "iTXt", "tIME"]);
/** The WebP chunks that contain metadata, and their flags in the VP8X header. */
const notesOfWebP = new Set(["EXIF", "XMP "]);
const announcedNotes = 0x08 | 0x04;

/**
 * Returns a picture to send, without metadata such as the location where it was taken.
 *
 * Image data of PNG, WebP and GIF files is kept as is. Pictures in other formats are re-encoded as
 * JPEG. JPEG files are re-encoded as well, because the removed metadata includes the orientation of
 * the picture.
 *
 * @param {Blob} file
 * @returns {Promise<{file: Blob, preview: Blob | undefined} | undefined>} undefined if this browser
 *     cannot decode the picture
 */
export async function preparePhoto(file) {
    try {
        const image = await createImageBitmap(file);
        const bytes = new Uint8Array(await file.arrayBuffer());
        const kept = withoutNotes(bytes);
        const sent = kept
            ? new Blob([/** @type {BlobPart} */ (kept)], { type: file.type })
            : await encoded(image);
        image.close();
        return { file: sent, preview: await makeThumbnail(file) };
    } catch (error) {
        console.warn("grapevine: a file is no picture:", error);
        return undefined;
    }
}

/** @param {ImageBitmap} image */
function encoded(image) {
    const scale = Math.min(1, Math.sqrt(pixelsMax / (image.width * image.height)));
    const width = Math.max(1, Math.floor(image.width * scale));
    const height = Math.max(1, Math.floor(image.height * scale));
    const canvas = new OffscreenCanvas(width, height);
    const context = canvas.getContext("2d");
    if (!context) throw new Error("no canvas of this size");
    context.drawImage(image, 0, 0, width, height);
    return canvas.convertToBlob({ type: "image/jpeg", quality });
}

/**
 * @param {Uint8Array} bytes
 * @returns {Uint8Array | undefined} undefined for a format whose metadata cannot be removed
 */
function withoutNotes(bytes) {
    if (word(bytes, 1) === "PNG\r") return pngWithoutNotes(bytes);
    if (word(bytes, 0) === "RIFF" && word(bytes, 8) === "WEBP") return webPWithoutNotes(bytes);
    return word(bytes, 0) === "GIF8" ? bytes : undefined;
}

/** @param {Uint8Array} bytes */
function pngWithoutNotes(bytes) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const kept = [bytes.subarray(0, 8)];
    let place = 8;
    while (place + 12 <= bytes.length) {
        const end = Math.min(place + 12 + view.getUint32(place), bytes.length);
        const kind = word(bytes, place + 4);
        if (!notesOfPNG.has(kind)) kept.push(bytes.subarray(place, end));
        // Bytes after the IEND chunk, which ends a PNG image, are dropped.
        place = kind === "IEND" ? bytes.length : end;
    }
    return joined(kept);
}

/** @param {Uint8Array} bytes */
function webPWithoutNotes(bytes) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const kept = [bytes.slice(0, 12)];
    let place = 12;
    while (place + 8 <= bytes.length) {
        const size = view.getUint32(place + 4, true);
        const end = Math.min(place + 8 + size + size % 2, bytes.length);
        const kind = word(bytes, place);
        if (!notesOfWebP.has(kind)) kept.push(bytes.slice(place, end));
        if (kind === "VP8X") kept[kept.length - 1][8] &= ~announcedNotes;
        place = end;
    }
    const picture = joined(kept);
    new DataView(picture.buffer).setUint32(4, picture.length - 8, true);
    return picture;
}

/** @param {Uint8Array[]} parts */
function joined(parts) {
    const whole = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
    let place = 0;
    for (const part of parts) {
        whole.set(part, place);
        place += part.length;
    }
    return whole;
}

/**
 * Returns the four bytes at an offset of a file, as letters.
 *
 * @param {Uint8Array} bytes
 * @param {number} place
 */
function word(bytes, place) {
    return String.fromCharCode(...bytes.subarray(place, place + 4));
}
