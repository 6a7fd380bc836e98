/**
 * The icons: SVG drawings of 24 × 24 units in the colour of the text.
 *
 * Icons are inline SVG elements, so they follow the page's colours and need no request.
 */

const namespace = "http://www.w3.org/2000/svg";

/**
 * The SVG paths of each icon: those in `lines` are drawn as strokes, those in `filled` as areas.
 *
 * @type {Record<string, {lines?: string, filled?: string}>}
 */
const drawings = {
    back: { lines: "M15 5l-7 7 7 7" },
    plus: { lines: "M12 5v14M5 12h14" },
    close: { lines: "M6 6l12 12M18 6L6 18" },
    closeFilled: {
        filled:
            "M12 2a10 10 0 1 0 0 20 10 10 0 0 0 0-20zm4.6 13.2-1.4 1.4L12 13.4l-3.2 3.2-1.4-1.4" +
            "L10.6 12 7.4 8.8l1.4-1.4L12 10.6l3.2-3.2 1.4 1.4L13.4 12z",
    },
    checkFilled: {
        filled:
            "M12 2a10 10 0 1 0 0 20 10 10 0 0 0 0-20zm-1.4 14.6L6.2 12.2l1.5-1.5 2.9 2.9 5.8-5.9" +
            " 1.5 1.5z",
    },
    archive: { lines: "M3 5h18v4H3zM5 9v10h14V9M10 13h4" },
    unarchive: {
        lines: "M4 13v6h16v-6M4 13l3-4M20 13l-3-4M4 13h4l1 2h6l1-2h4M12 11V3M9 6l3-3 3 3",
    },
    trash: { lines: "M4 6h16M9 6V4h6v2M6 6l1 14h10l1-14M10 10v6M14 10v6" },
    trashFilled: {
        filled: "M9 3h6l1 2h4v2H4V5h4zM5.5 8h13l-1 13h-11zM9.2 10.5l.4 8h1.5l-.4-8z" +
            "m5.6 0h-1.5l-.4 8h1.5z",
    },
    pencil: { lines: "M4 20l1-4L16.5 4.5l3 3L8 19zM14 7l3 3" },
    pin: { lines: "M9 4h6l-1 6 3 3v2H7v-2l3-3zM12 15v6" },
    pinOff: { lines: "M9 4h6l-1 6 3 3v2H7v-2l3-3zM12 15v6M4 3l16 18" },
    search: { lines: "M10.5 4a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13zM15.5 15.5L20 20" },
    more: {
        filled:
            "M5 10.2a1.8 1.8 0 1 0 0 3.6 1.8 1.8 0 0 0 0-3.6zm7 0a1.8 1.8 0 1 0 0 3.6 1.8 1.8 0 0 0" +
            " 0-3.6zm7 0a1.8 1.8 0 1 0 0 3.6 1.8 1.8 0 0 0 0-3.6z",
    },
    settings: {
        lines: "M4 7h9M17 7h3M4 17h3M11 17h9M15 4.5a2.5 2.5 0 1 0 0 5 2.5 2.5 0 0 0 0-5z" +
            "M9 14.5a2.5 2.5 0 1 0 0 5 2.5 2.5 0 0 0 0-5z",
    },
    newChat: { lines: "M12 5H5v14h14v-7M10 14l1-3.5L18 3.5l2.5 2.5-7 7z" },
    send: { filled: "M3.5 20.5 21.5 12l-18-8.5 2.2 7L14 12l-8.3 1.5z" },
    microphone: {
        lines: "M12 3a3 3 0 0 0-3 3v5a3 3 0 0 0 6 0V6a3 3 0 0 0-3-3zM5.5 11a6.5 6.5 0 0 0 13 0" +
            "M12 17.5V21",
    },
    file: { lines: "M6 3h8l4 4v14H6zM14 3v4h4" },
    copy: { lines: "M9 9h11v11H9zM15 9V4H4v11h5" },
    photo: { lines: "M4 5h16v14H4zM4 16l5-5 4 4 2-2 5 5M15.5 8.5h.01" },
    play: { filled: "M7 4.5v15l13-7.5z" },
    pause: { filled: "M6 5h4v14H6zm8 0h4v14h-4z" },
    circle: { lines: "M12 3.5a8.5 8.5 0 1 0 0 17 8.5 8.5 0 0 0 0-17z" },
    item: { lines: "M12 3.5a8.5 8.5 0 1 0 0 17 8.5 8.5 0 0 0 0-17zM8 12l3 3 5-6" },
    clock: { lines: "M12 4a8 8 0 1 0 0 16 8 8 0 0 0 0-16zM12 8v4l3 2" },
    sent: { lines: "M5 12.5l4.5 4.5L19 7" },
    delivered: { lines: "M1.5 12.5L6 17l8.5-10M10.5 14.5L13 17l8.5-10" },
    warning: { lines: "M12 4L2.5 20h19zM12 10v4.5M12 17.2v.1" },
    bell: { lines: "M6 17V11a6 6 0 0 1 12 0v6l1.5 1.5h-15zM10 21h4" },
    bubble: { lines: "M4 5h16v11H11l-5 4v-4H4z" },
    down: { lines: "M12 5v14M6 13l6 6 6-6" },
    chevron: { lines: "M7 10l5 5 5-5" },
    blocked: { lines: "M12 4a8 8 0 1 0 0 16 8 8 0 0 0 0-16zM6.5 6.5l11 11" },
    offline: {
        lines: "M4 4l16 16M5 12a10 10 0 0 1 4-2.5M2 8.5A15 15 0 0 1 6 6M12 6c4 0 7.5 1 10 3" +
            "M15 10.500c1.5.500 3 1 4 2M9 16a5 5 0 0 1 5-.500M12 19.500h.01",
    },
    leave: { lines: "M14 4H5v16h9M10 12h11M17 8l4 4-4 4" },
    person: { lines: "M12 4a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM4.5 20a7.5 7.5 0 0 1 15 0" },
    grapes: {
        lines: "M12 5.5c0-2 1.5-3 3.5-3",
        filled:
            "M4.5 8a2.3 2.3 0 1 0 4.6 0 2.3 2.3 0 1 0-4.6 0zM9.7 8a2.3 2.3 0 1 0 4.6 0 2.3 2.3 0 1 0-4.6 0zM14.9 8a2.3 2.3 0 1 0 4.6 0 2.3 2.3 0 1 0-4.6 0z" +
            "M7.1 12.6a2.3 2.3 0 1 0 4.6 0 2.3 2.3 0 1 0-4.6 0zM12.3 12.6a2.3 2.3 0 1 0 4.6 0 2.3 2.3 0 1 0-4.6 0zM9.7 17.2a2.3 2.3 0 1 0 4.6 0 2.3 2.3 0 1 0-4.6 0z",
    },
};

/**
 * @param {string} name
 * @returns {SVGSVGElement} an SVG element hidden from screen readers, since the control around it
 *     has a name
 */
export function icon(name) {
    const svg = document.createElementNS(namespace, "svg");
    svg.setAttribute("viewBox", "0 0 24 24");
    svg.setAttribute("class", "icon");
    svg.setAttribute("aria-hidden", "true");
    svg.dataset.icon = name;
    const drawing = drawings[name];
    if (drawing?.lines) svg.append(path(drawing.lines, "icon-line"));
    if (drawing?.filled) svg.append(path(drawing.filled, "icon-area"));
    return svg;
}

/**
 * @param {string} data
 * @param {string} kind
 */
function path(data, kind) {
    const made = document.createElementNS(namespace, "path");
    made.setAttribute("d", data);
    made.setAttribute("class", kind);
    return made;
}
