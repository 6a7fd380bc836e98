import { element } from "../parts/dom.js";
import { icon } from "../parts/icons.js";
import { texts } from "../texts.js";

/** The content of a message that was deleted for everyone: a notice of the deletion. */
export class TombstoneContent {
    element = element("p", { class: "tombstone" }, icon("blocked"), texts.message.deleted);

    render() {}
}
