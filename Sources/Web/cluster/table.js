/** @import { ClusterView, NodeView } from "./types.js" */
/** @import { Order } from "./play.js" */
import { made, set, setText } from "./elements.js";
import { texts } from "./texts.js";

/** The commands offered for a node, by its status. @type {Record<string, Order[]>} */
const ORDERS = {
    answers: ["send", "pause", "kill"],
    silent: ["resume", "kill"],
    stopped: ["start", "wipe"],
};

/**
 * The table of the nodes, with figures such as a node's memory use, and with the buttons that send
 * commands to the nodes.
 */
export class Table {
    #rows = made("tbody", { role: "rowgroup" });
    #onOrder;
    /** @type {string[]} */
    #names;
    /** @type {Map<string, HTMLTableRowElement>} */
    #elements = new Map();

    /**
     * @param {HTMLElement} place
     * @param {((order: Order, node: string) => void) | undefined} onOrder
     */
    constructor(place, onOrder) {
        this.#onOrder = onOrder;
        const { orders, ...columns } = texts.columns;
        const names = [...Object.values(columns), ...(onOrder ? [orders] : [])];
        const heads = names.map((name) => made("th", { scope: "col" }, name));
        // On a phone CSS shows rows as blocks; ARIA roles keep them rows for screen readers.
        place.append(made(
            "table",
            { role: "table" },
            made("thead", {}, made("tr", {}, ...heads)),
            this.#rows,
        ));
        this.#names = names;
    }

    /** The names of the selected nodes. */
    get selected() {
        const boxes = this.#rows.querySelectorAll("input");
        return [...boxes].filter((box) => box.checked).map((box) => box.value);
    }

    /** @param {ClusterView} view */
    show(view) {
        for (const node of view.nodes) {
            const row = this.#elements.get(node.name) ?? this.#makeRow(node.name);
            figures(node, view).forEach((text, index) => setText(row.cells[index + 1], text));
            set(row, { class: stateOf(node) });
            showButtons(row, ORDERS[node.status]);
        }
        for (const [name, row] of this.#elements) {
            if (view.nodes.some((node) => node.name === name)) continue;
            row.remove();
            this.#elements.delete(name);
        }
    }

    /** @param {string} name */
    #makeRow(name) {
        const head = made("th", { scope: "row", role: "rowheader" });
        const cells = this.#names.slice(1, 7).map((title) =>
            made("td", { role: "cell", "data-title": title })
        );
        const row = made("tr", { role: "row" }, head, ...cells);
        if (this.#onOrder) {
            const id = `select-${name}`;
            const label = made("label", { for: id }, name);
            const box = made("input", { type: "checkbox", id, value: name });
            set(box, { "aria-label": texts.orders.select(name) });
            head.append(box, label);
            row.append(made("td", { role: "cell", class: "buttons" }, ...this.#buttons(name)));
        } else {
            head.append(name);
        }
        this.#rows.append(row);
        this.#elements.set(name, row);
        return row;
    }

    /** @param {string} node */
    #buttons(node) {
        const orders = /** @type {const} */ (["start", "wipe", "send", "resume", "pause", "kill"]);
        return orders.map((order) => {
            const word = texts.orders[order];
            const button = made("button", { type: "button", value: order }, word);
            set(button, { "aria-label": texts.orders.label(word, node) });
            button.addEventListener("click", () => this.#onOrder?.(order, node));
            return button;
        });
    }
}

/**
 * Shows only the buttons of the given commands in a node's row; if the focused button is hidden,
 * focuses another button in the row.
 *
 * @param {HTMLTableRowElement} row
 * @param {Order[]} orders
 */
function showButtons(row, orders) {
    const buttons = [...row.querySelectorAll("button")];
    const hadFocus = buttons.some((button) => button === document.activeElement);
    for (const button of buttons) {
        button.hidden = !orders.some((order) => order === button.value);
    }
    const shown = buttons.filter((button) => !button.hidden);
    const hasFocus = shown.some((button) => button === document.activeElement);
    if (hadFocus && !hasFocus) shown[0]?.focus();
}

/** @param {NodeView} node */
function stateOf(node) {
    return node.status === "answers" && node.report?.node.unready ? "unready" : node.status;
}

/** @param {NodeView} node @param {ClusterView} view */
function figures(node, view) {
    const report = node.report?.node;
    const rtts = view.nodes.flatMap((other) =>
        other.report?.members.filter((member) => member.name === node.name) ?? []
    ).flatMap((member) => member.rttMilliseconds ?? []);
    const state = stateOf(node);
    return [
        !node.address ? texts.status.unknown : texts.status[state],
        report ? texts.rate(node.sendsPerSecond) : texts.none,
        report ? report.messages.toLocaleString() : texts.none,
        node.behind > 0 ? texts.changes(node.behind) : texts.none,
        report && rtts.length > 0 ? texts.milliseconds(Math.max(...rtts)) : texts.none,
        report ? texts.megabytes(report.memoryBytes) : texts.none,
    ];
}
