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
        const last = (b[time] ?? "") > (a[time] ?? "") ? b : a;
        joined[name] = last[name];
        joined[time] = last[time];
    }
    return /** @type {T} */ (joined);
}

/** @param {Record<string, any>} a @param {Record<string, any>} b */
export function isSame(a, b) {
    return Object.keys({ ...a, ...b }).every((name) => a[name] === b[name]);
}
