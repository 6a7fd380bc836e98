import { showFailure } from "./alert.js";
import { openDialog, titledDialog } from "./dialog.js";
import { element } from "../parts/dom.js";
import { spinner } from "../parts/spinner.js";
import { texts } from "../texts.js";

/**
 * Makes the dialog of a photo in its full size.
 *
 * @param {string} name
 * @param {Node} content
 */
export function makePhotoViewer(name, content) {
    return titledDialog(name, { style: "viewer" }, content);
}

/**
 * @param {string} sender
 * @param {() => Promise<string>} load the photo's address
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
