/** @import { ConfirmedState } from "../store/confirmed.js" */
/** @import { Outbox } from "../outbox/outbox.js" */

/** The name of the queue (outbox lane) for changes of the user's own profile. */
const LANE = "profile";

/** The profiles of all known users; the signed-in user's profile includes unconfirmed changes. */
export class Profiles {
    #outbox;
    #confirmed;

    /**
     * @param {Outbox} outbox
     * @param {() => ConfirmedState} confirmed
     */
    constructor(outbox, confirmed) {
        this.#outbox = outbox;
        this.#confirmed = confirmed;
    }

    /**
     * @param {string} user
     * @returns {import("../types.js").Profile | undefined}
     */
    profile(user) {
        const known = this.#confirmed().profiles.get(user);
        if (user !== this.#confirmed().user) return known;
        const set = this.#outbox.lane(LANE).at(-1)?.action;
        if (set?.kind !== "setProfile") return known;
        return { ...known, user, name: set.name, photo: set.photo };
    }

    /** @param {{name?: string, photo?: string}} fields */
    set({ name, photo }) {
        return this.#outbox.perform(LANE, { kind: "setProfile", name, photo });
    }
}
