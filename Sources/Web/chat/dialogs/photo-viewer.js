import { showFailure } from "./alert.js";
import { openDialog, titledDialog } from "./dialog.js";
import { element } from "../parts/dom.js";
import { spinner } from "../parts/spinner.js";
import { texts } from "../texts.js";

/**
 * Returns the dialog that shows a photo in full size.
 *
 * @param {string} name
 * @param {Node} content
 */
export function makePhotoViewer(name, content) {
    return titledDialog(name, { style: "viewer" }, content);
}

/**
 * @param {string} sender
 * @param {() => Promise<string>} load returns the photo's URL
 */
export async function openPhotoViewer(sender, load) {
    const name = texts.message.photoFrom(sender);
    const place = element("div", { class: "viewer-place" }, spinner());
    const dialog = makePhotoViewer(name, place);
    openDialog(dialog);
    try {
        place.replaceChildren(element("img", { src: await load(), alt: name }));
    } catch (error) {
        if (dialog.open) showFailure(error, texts.message.photoMissing);
    }
}
