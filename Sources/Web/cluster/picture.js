/** @import { ClusterView, Link, NodeView } from "./types.js" */
import { drawn, made, set, setText } from "./elements.js";
import { texts } from "./texts.js";

const WIDTH = 420;
const HEIGHT = 340;
const RADIUS = 34;

/** The SVG drawing of the nodes and the connections between them. */
export class Picture {
    #drawing = drawn("svg", { role: "img" });
    #links = drawn("g");
    #nodes = drawn("g");
    /** @type {Map<string, SVGElement>} */
    #elements = new Map();

    /** @param {HTMLElement} place @param {HTMLElement} legend */
    constructor(place, legend) {
        this.#drawing.append(this.#links, this.#nodes);
        place.append(this.#drawing);
        for (const state of /** @type {const} */ (["connected", "cut", "closed"])) {
            const line = drawn("line", { x1: 0, y1: 5, x2: 28, y2: 5, class: `link ${state}` });
            const sample = drawn("svg", { viewBox: "0 0 28 10", "aria-hidden": "true" }, line);
            legend.append(made("li", {}, sample, texts.legend[state]));
        }
        const ring = drawn("circle", { cx: 14, cy: 5, r: 4, class: "ring" });
        const sample = drawn("svg", { viewBox: "0 0 28 10", class: "node behind" }, ring);
        set(sample, { "aria-hidden": "true" });
        legend.append(made("li", {}, sample, texts.legend.behind));
    }

    /** @param {ClusterView} view */
    show(view) {
        const places = placesOf(view.nodes.map((node) => node.name));
        const lowest = Math.max(...[...places.values()].map((place) => place.y));
        set(this.#drawing, {
            "aria-label": view.nodes.map(texts.nodeLabel).join("; "),
            viewBox: `0 0 ${WIDTH} ${lowest + RADIUS + 12}`,
        });
        const shown = new Set();
        for (const link of view.links) {
            shown.add(this.#showLink(link, places, view.sendsPerSecond > 0));
        }
        for (const node of view.nodes) shown.add(this.#showNode(node, places));
        for (const [key, element] of this.#elements) {
            if (shown.has(key)) continue;
            element.remove();
            this.#elements.delete(key);
        }
    }

    /** @param {Link} link @param {Map<string, {x: number, y: number}>} places @param {boolean} isBusy */
    #showLink(link, places, isBusy) {
        const key = `${link.from} ${link.to}`;
        const [from, to] = [places.get(link.from), places.get(link.to)];
        if (!from || !to) return key;
        const element = this.#element(
            key,
            this.#links,
            () => drawn("g", {}, drawn("line"), drawn("path", { d: "m-6-6 12 12m0-12-12 12" })),
        );
        const busy = isBusy && link.state === "connected" ? " busy" : "";
        set(element, { class: `link ${link.state}${busy}` });
        const [line, cross] = element.children;
        set(line, { x1: from.x, y1: from.y, x2: to.x, y2: to.y });
        const middle = `translate(${(from.x + to.x) / 2} ${(from.y + to.y) / 2})`;
        set(cross, { transform: middle });
        return key;
    }

    /** @param {NodeView} node @param {Map<string, {x: number, y: number}>} places */
    #showNode(node, places) {
        const place = places.get(node.name);
        if (!place) return node.name;
        const element = this.#element(node.name, this.#nodes, () =>
            drawn(
                "g",
                {},
                drawn("circle", { r: RADIUS }),
                drawn("circle", { r: RADIUS + 5, class: "ring" }),
                drawn("text", { class: "name", y: -1 }),
                drawn("text", { class: "figure", y: 17 }),
            ));
        const behind = node.behind > 0 ? " behind" : "";
        set(element, {
            class: `node ${node.status}${behind}`,
            transform: `translate(${place.x} ${place.y})`,
        });
        const [, , name, figure] = element.children;
        setText(name, node.name);
        const isServing = node.status === "answers";
        setText(
            figure,
            isServing ? `${texts.rate(node.sendsPerSecond)}/s` : texts.status[node.status],
        );
        return node.name;
    }

    /** @param {string} key @param {Element} group @param {() => SVGElement} make */
    #element(key, group, make) {
        const element = this.#elements.get(key) ?? make();
        if (!element.parentNode) group.append(element);
        this.#elements.set(key, element);
        return element;
    }
}

/** Returns the nodes' positions on a circle, the first at the top. @param {string[]} names */
function placesOf(names) {
    return new Map(names.map((name, index) => {
        const angle = 2 * Math.PI * index / names.length - Math.PI / 2;
        const x = Math.round(WIDTH / 2 + Math.cos(angle) * (WIDTH / 2 - RADIUS - 12));
        const y = Math.round(HEIGHT / 2 + Math.sin(angle) * (HEIGHT / 2 - RADIUS - 10));
        return [name, { x, y }];
    }));
}
