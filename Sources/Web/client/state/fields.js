const encoder = new TextEncoder();

/**
 * Whether a value is greater than another, as nodes order the values of a field that have equal
 * times: texts by their bytes, and any value is greater than none.
 *
 * @param {string | boolean | undefined} value @param {string | boolean | undefined} other
 */
function isGreater(value, other) {
    if (typeof value !== "string" || typeof other !== "string") {
        return Boolean(value) && !other || value === "" && other === undefined;
    }
    if (value === other) return false;
    const [mine, theirs] = [encoder.encode(value), encoder.encode(other)];
    const place = mine.findIndex((byte, index) => byte !== theirs[index]);
    return place >= 0 && mine[place] > (theirs[place] ?? -1);
}

/**
 * Whether a change, as its time and its value, holds against another: the later, or the greater.
 *
 * @param {[string | undefined, string | boolean | undefined]} a
 * @param {[string | undefined, string | boolean | undefined]} b
 */
export function isLater([time = "", value], [otherTime = "", other]) {
    return time === otherTime ? isGreater(value, other) : time > otherTime;
}

/**
 * Joins two versions of an object: each field has the value with the later time `<field>Changed`.
 *
 * @template {Record<string, any>} T
 * @param {T} a @param {T} b @param {string[]} names @returns {T}
 */
export function joinFields(a, b, names) {
    const joined = /** @type {Record<string, any>} */ ({ ...a, ...b });
    for (const name of names) {
        const time = `${name}Changed`;
        const last = isLater([b[time], b[name]], [a[time], a[name]]) ? b : a;
        joined[name] = last[name];
        joined[time] = last[time];
    }
    return /** @type {T} */ (joined);
}

/** @param {Record<string, any>} a @param {Record<string, any>} b */
export function isSame(a, b) {
    return Object.keys({ ...a, ...b }).every((name) => a[name] === b[name]);
}
