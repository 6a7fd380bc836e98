import { FileContent } from "./file-content.js";
import { ImageContent } from "./image-content.js";
import { ItemContent } from "./item-content.js";
import { TextContent } from "./text-content.js";
import { TombstoneContent } from "./tombstone-content.js";
import { VoiceContent } from "./voice-content.js";

/**
 * @typedef {import("../../client/types.js").Message} Message
 * @typedef {import("../../client/types.js").Item} Item
 */

/**
 * The functions that the content component of a message calls: to load a file, to show a photo, or
 * to mark an action item as done or not done.
 *
 * @typedef {{
 *   file: (conversation: string, blob: string) => Promise<Blob>,
 *   openPhoto: (message: Message, sender: string) => void,
 *   toggleItem: (item: string, isDone: boolean) => void,
 * }} ContentActions
 */

/** @typedef {{message: Message, sender: string, item?: Item}} ContentView */

/** @typedef {{element: HTMLElement, render: (view: ContentView) => void}} Content */

/** @type {Record<string, new (actions: ContentActions) => Content>} */
const contents = {
    text: TextContent,
    system: TextContent,
    image: ImageContent,
    voice: VoiceContent,
    file: FileContent,
    action: ItemContent,
    deleted: TombstoneContent,
};

/**
 * Returns the kind of content component that renders a message.
 *
 * @param {Message} message
 */
export function contentKind(message) {
    if (message.deletedForEveryone) return "deleted";
    return message.type === "text" && message.blob ? "file" : message.type;
}

/**
 * @param {string} kind
 * @param {ContentActions} actions
 */
export function makeContent(kind, actions) {
    return new (contents[kind] ?? TextContent)(actions);
}
