/**
 * Formatting of times and numbers in the reader's locale.
 *
 * Formatters are created once, since creating one takes longer than formatting 1,000 values.
 */

const locale = globalThis.navigator?.language;
const time = new Intl.DateTimeFormat(locale, { hour: "numeric", minute: "2-digit" });
const weekday = new Intl.DateTimeFormat(locale, { weekday: "long" });
const shortWeekday = new Intl.DateTimeFormat(locale, { weekday: "short" });
const day = new Intl.DateTimeFormat(locale, { day: "numeric", month: "short" });
const longDay = new Intl.DateTimeFormat(locale, {
    weekday: "long",
    day: "numeric",
    month: "long",
});
const yearDay = new Intl.DateTimeFormat(locale, {
    day: "numeric",
    month: "short",
    year: "numeric",
});
const whole = new Intl.DateTimeFormat(locale, { dateStyle: "long", timeStyle: "short" });
const relative = new Intl.RelativeTimeFormat(locale, { numeric: "auto" });
const number = new Intl.NumberFormat(locale);
const names = new Intl.ListFormat(locale, { type: "conjunction" });

const dayMilliseconds = 24 * 60 * 60 * 1000;
const weekDays = 7;
const badgeMax = 99;

/** @param {string} at */
export function formatTime(at) {
    return time.format(new Date(at));
}

/** @param {string} at */
export function formatWhole(at) {
    return whole.format(new Date(at));
}

/** @param {number} value */
export function formatNumber(value) {
    return number.format(value);
}

/**
 * Returns a count for a badge; counts above 99 are shown as "99+".
 *
 * @param {number} count
 */
export function formatBadge(count) {
    return count > badgeMax ? `${number.format(badgeMax)}+` : number.format(count);
}

/** @param {string[]} list */
export function formatNames(list) {
    return names.format(list);
}

/** @param {number} seconds */
export function formatDuration(seconds) {
    const minutes = Math.floor(seconds / 60);
    return `${minutes}:${String(Math.floor(seconds % 60)).padStart(2, "0")}`;
}

/**
 * Returns the number of midnights between a time and now.
 *
 * @param {Date} date
 * @param {Date} now
 */
function daysAgo(date, now) {
    const start = (/** @type {Date} */ at) =>
        Date.UTC(at.getFullYear(), at.getMonth(), at.getDate()) / dayMilliseconds;
    return start(now) - start(date);
}

/**
 * Returns a time for the chat list: the time of day for today, "Yesterday", a weekday, or a date.
 *
 * @param {string} at
 * @param {Date} [now]
 */
export function formatListTime(at, now = new Date()) {
    const date = new Date(at);
    const days = daysAgo(date, now);
    if (days <= 0) return time.format(date);
    if (days === 1) return capitalized(relative.format(-1, "day"));
    if (days < weekDays) return shortWeekday.format(date);
    return date.getFullYear() === now.getFullYear() ? day.format(date) : yearDay.format(date);
}

/**
 * Returns the heading for a day of messages: "Today", "Yesterday", a weekday, or a date.
 *
 * @param {string} at
 * @param {Date} [now]
 */
export function formatDay(at, now = new Date()) {
    const date = new Date(at);
    const days = daysAgo(date, now);
    if (days === 0 || days === 1) return capitalized(relative.format(-days, "day"));
    if (days > 0 && days < weekDays) return weekday.format(date);
    return date.getFullYear() === now.getFullYear() ? longDay.format(date) : yearDay.format(date);
}

/**
 * Returns a time for use within a sentence: the day and the time of day.
 *
 * @param {string} at
 * @param {Date} [now]
 */
export function formatMoment(at, now = new Date()) {
    const date = new Date(at);
    return `${dayWithinSentence(date, now)}, ${time.format(date)}`;
}

/**
 * Returns an action item's due time for use within a sentence: the day, with the time of day if it
 * is yesterday, today or tomorrow.
 *
 * @param {string} at
 * @param {Date} [now]
 */
export function formatDue(at, now = new Date()) {
    const date = new Date(at);
    const isSoon = Math.abs(daysAgo(date, now)) <= 1;
    return isSoon ? formatMoment(at, now) : dayWithinSentence(date, now);
}

/**
 * @param {Date} date
 * @param {Date} now
 */
function dayWithinSentence(date, now) {
    const days = daysAgo(date, now);
    if (Math.abs(days) <= 1) return relative.format(-days, "day");
    return date.getFullYear() === now.getFullYear() ? day.format(date) : yearDay.format(date);
}

/** @param {string} text */
function capitalized(text) {
    return text.charAt(0).toLocaleUpperCase(locale) + text.slice(1);
}
