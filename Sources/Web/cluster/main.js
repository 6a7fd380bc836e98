/** @import { Order } from "./play.js" */
import { Chart } from "./chart.js";
import { found, made, set, setText } from "./elements.js";
import { Grid } from "./grid.js";
import { ClusterModel, proof } from "./model.js";
import { Picture } from "./picture.js";
import { Play } from "./play.js";
import { loadAddresses, poll } from "./poll.js";
import { Table } from "./table.js";
import { texts } from "./texts.js";
import { EVENTS_MAX, Timeline } from "./timeline.js";

/** Milliseconds between two redraws of the cluster page. */
const DRAWING_MILLISECONDS = 250;

const play = Play.of(location.hash);
const model = new ClusterModel();
const timeline = new Timeline();
const picture = new Picture(found("#picture .drawing"), found("#picture .legend"));
const grid = new Grid(found("#shards .wide"));
const chart = new Chart(found("#rates .drawing"));
const table = new Table(found("#nodes .wide"), play && give);

/**
 * Sends a command to the local program `cluster/play` and shows the result of the command.
 * @param {Order} order
 * @param {string[]} words
 */
async function give(order, ...words) {
    if (!play) return;
    setText(found("#nodes .said"), texts.orders.running);
    const said = await play.give(order, ...words);
    setText(found("#nodes .said"), said);
    for (const line of said.split("\n")) addEvent(line, "order");
}

function cut() {
    const selected = table.selected;
    const others = nodes.filter((name) => !selected.includes(name));
    if (selected.length === 0 || others.length === 0) {
        setText(found("#nodes .said"), texts.orders.selectSome);
        return;
    }
    void give("partition", selected.join(","), others.join(","));
}

/** The names of the running nodes; a partition command can name only these. @type {string[]} */
let nodes = [];

/** @param {string} text @param {string} kind */
function addEvent(text, kind) {
    const list = found("#timeline ol");
    const now = new Date();
    const time = made("time", { datetime: now.toISOString() }, now.toLocaleTimeString());
    list.prepend(made("li", { class: kind }, time, text));
    while (list.children.length > EVENTS_MAX) list.lastElementChild?.remove();
}

function show() {
    const view = model.view(performance.now());
    nodes = view.nodes.filter((node) => node.status === "answers").map((node) => node.name);
    picture.show(view);
    grid.show(view);
    chart.show(view);
    table.show(view);
    for (const event of timeline.onView(view)) addEvent(event, "seen");
    const { answering, shards, different, notConverged, isProven } = proof(view);
    const doubts = [
        different > 0 ? texts.proof.differ(different) : "",
        notConverged.length > 0 ? texts.proof.notConverged(notConverged) : "",
    ].filter(Boolean);
    const sentence = answering === 0
        ? texts.proof.nobody
        : isProven
        ? texts.proof.agreed(answering, shards)
        : doubts.join("; ");
    setText(found("#proof"), sentence);
    set(found("#proof"), { class: isProven ? "proven" : "open" });
}

function setTexts() {
    for (const part of /** @type {const} */ (["picture", "nodes", "shards", "rates", "timeline"])) {
        setText(found(`#${part} h2`), texts[part]);
    }
    setText(found("#shards .about"), texts.aboutShards);
    setText(found("#proof"), texts.proof.waiting);
    if (!play) return;
    const orders = found("#nodes .orders");
    orders.hidden = false;
    const cutButton = made("button", { type: "button" }, texts.orders.cut);
    const healButton = made("button", { type: "button" }, texts.orders.heal);
    cutButton.addEventListener("click", cut);
    healButton.addEventListener("click", () => void give("heal"));
    orders.append(cutButton, healButton);
}

setTexts();
const addresses = await loadAddresses(location.origin);
poll(addresses, (answer) => model.onAnswer(answer));
// The first redraw is delayed, so that most nodes have answered a request before it.
setTimeout(() => setInterval(show, DRAWING_MILLISECONDS), 2 * DRAWING_MILLISECONDS);
