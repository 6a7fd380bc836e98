import { element } from "../parts/dom.js";
import { icon } from "../parts/icons.js";
import { texts } from "../texts.js";

/** What is left of a message that its sender deleted for everyone. */
export class TombstoneContent {
    element = element("p", { class: "tombstone" }, icon("blocked"), texts.message.deleted);

    render() {}
}
