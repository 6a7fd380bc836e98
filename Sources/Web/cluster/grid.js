/** @import { ClusterView, NodeView, ShardView } from "./types.js" */
import { drawn, set, setText } from "./elements.js";
import { texts } from "./texts.js";

const CELL = 16;
const HEAD = 44;
const TOP = 14;
/**
 * The letters that mark the different digests of one shard. If a shard has more digests than there
 * are letters, the further digests have the last letter.
 */
const LETTERS = "ABCDEFG";

/** The drawing of the cluster's shards as a grid with a column per shard and a row per node. */
export class Grid {
    #place;
    #drawing = drawn("svg", { role: "img" });
    /** @type {Map<string, SVGElement>} */
    #cells = new Map();
    #shape = "";

    /** @param {HTMLElement} place */
    constructor(place) {
        this.#place = place;
        place.append(this.#drawing);
    }

    /** @param {ClusterView} view */
    show(view) {
        const shape = `${view.nodes.map((node) => node.name)} ${view.shards.length}`;
        if (shape !== this.#shape) this.#draw(view);
        this.#shape = shape;
        const different = view.shards.filter((shard) => !shard.isEqual).map((shard) => shard.id);
        const said = different.length > 0
            ? `${texts.proof.differ(different.length)}: ${different}`
            : "";
        set(this.#drawing, { "aria-label": [texts.shards, said].filter(Boolean).join(". ") });
        for (const shard of view.shards) {
            for (const node of view.nodes) this.#showCell(shard, node);
        }
    }

    /** @param {ClusterView} view */
    #draw(view) {
        this.#cells.clear();
        const [width, height] = [HEAD + view.shards.length * CELL, TOP + view.nodes.length * CELL];
        set(this.#drawing, { viewBox: `0 0 ${width} ${height + 2}`, width, height: height + 2 });
        const numbers = view.shards.filter((shard) => shard.id % 8 === 0).map((shard) =>
            drawn("text", { class: "number", x: HEAD + shard.id * CELL, y: 9 }, `${shard.id}`)
        );
        const rows = view.nodes.map((node, row) => {
            const y = TOP + row * CELL;
            const name = drawn("text", { class: "row", x: 0, y: y + 12 }, node.name);
            const cells = view.shards.map((shard, column) => {
                const cell = drawCell(HEAD + column * CELL, y);
                this.#cells.set(`${shard.id} ${node.name}`, cell);
                return cell;
            });
            return drawn("g", {}, name, ...cells);
        });
        this.#drawing.replaceChildren(...numbers, ...rows);
        this.#place.scrollLeft = 0;
    }

    /** @param {ShardView} shard @param {NodeView} node */
    #showCell(shard, node) {
        const cell = this.#cells.get(`${shard.id} ${node.name}`);
        if (!cell) return;
        const variant = shard.variants.get(node.name);
        const state = shard.states.get(node.name);
        const isOwner = shard.owners.includes(node.name);
        const kind = variant === undefined
            ? isOwner ? "away" : "none"
            : shard.isEqual
            ? "equal"
            : "different";
        const place = Math.min(variant ?? 0, LETTERS.length - 1);
        const states = [
            kind,
            state === "ready" ? undefined : state,
            shard.owners[0] === node.name ? "first" : undefined,
        ].filter((each) => each !== undefined);
        set(cell, { class: ["cell", ...states, `v${place}`].join(" ") });
        setText(cell.children[3], kind === "different" ? LETTERS[place] : "");
        const said = states.map((each) => texts.cells[each]).join(", ");
        setText(cell.children[0], texts.cell(node.name, shard.id, said));
    }
}

/** @param {number} x @param {number} y */
function drawCell(x, y) {
    const size = CELL - 2;
    return drawn(
        "g",
        { transform: `translate(${x} ${y})` },
        drawn("title"),
        drawn("rect", { width: size, height: size, rx: 3 }),
        drawn("circle", { cx: size / 2, cy: size / 2, r: 2 }),
        drawn("text", { x: size / 2, y: size / 2 + 4 }),
    );
}
