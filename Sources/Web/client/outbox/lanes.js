/** The lane of operations on action items. */
export const ITEMS = "items";
/** The lane of operations on the user's profile. */
export const PROFILE = "profile";

/** Returns the lane (queue) of an action. @param {import("../types.js").Action} action */
export function laneOf(action) {
    if ("item" in action) return ITEMS;
    return "conversation" in action ? action.conversation : PROFILE;
}
