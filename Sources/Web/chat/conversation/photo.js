import { makeThumbnail } from "./thumbnail.js";

/** What a picture is encoded with anew: nobody sees the difference. */
const quality = 0.92;
/** The most pixels of a canvas that every browser has. */
const pixelsMax = 16_000_000;

/** The chunks of a PNG that are no part of the picture. */
const notesOfPNG = new Set(["eXIf", "tEXt", "zTXt", "iTXt", "tIME"]);
/** Those of a WebP, and the bits that announce them in its header. */
const notesOfWebP = new Set(["EXIF", "XMP "]);
const announcedNotes = 0x08 | 0x04;

/**
 * A picture as it is sent: without what a camera notes beside it, such as where it was taken.
 *
 * A PNG, a WebP or a GIF keeps every byte that is shown. All others are encoded anew, a JPEG since
 * its orientation is among those notes.
 *
 * @param {Blob} file
 * @returns {Promise<{file: Blob, preview: Blob | undefined} | undefined>} undefined for what this
 *   browser cannot show
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
 * @returns {Uint8Array | undefined} undefined for a format of which the notes are not known
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
        // What stands behind the end is no part of it.
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
 * The four letters at a place.
 *
 * @param {Uint8Array} bytes
 * @param {number} place
 */
function word(bytes, place) {
    return String.fromCharCode(...bytes.subarray(place, place + 4));
}
