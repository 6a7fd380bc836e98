/** @import { ClusterView } from "./types.js" */
import { drawn, made, set, setText } from "./elements.js";
import { texts } from "./texts.js";

const WIDTH = 640;
const HEIGHT = 120;
const SECONDS = 60;
/** The most points that the chart keeps; it draws one minute, which has at most 240 points. */
const POINTS_MAX = 600;

/** The line chart of the messages sent per second in the cluster, over the last minute. */
export class Chart {
    #line = drawn("polyline", { class: "line" });
    #area = drawn("polygon", { class: "area" });
    #most = made("p", { class: "most" });
    #drawing = drawn("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img" });
    /** @type {{at: number, rate: number}[]} */
    #points = [];

    /** @param {HTMLElement} place */
    constructor(place) {
        const base = drawn("line", {
            class: "base",
            x1: 0,
            y1: HEIGHT - 1,
            x2: WIDTH,
            y2: HEIGHT - 1,
        });
        this.#drawing.append(this.#area, this.#line, base);
        place.append(this.#most, this.#drawing);
    }

    /** @param {ClusterView} view */
    show(view) {
        this.#points.push({ at: view.at, rate: view.sendsPerSecond });
        if (this.#points.length > POINTS_MAX) this.#points.shift();
        this.#points = this.#points.filter((point) => point.at > view.at - SECONDS * 1000);
        const most = Math.max(10, ...this.#points.map((point) => point.rate));
        const places = this.#points.map((point) => {
            const x = WIDTH - (view.at - point.at) / (SECONDS * 1000) * WIDTH;
            const y = HEIGHT - 2 - point.rate / most * (HEIGHT - 6);
            return `${x.toFixed(1)},${y.toFixed(1)}`;
        });
        const first = places[0]?.split(",")[0] ?? WIDTH;
        set(this.#line, { points: places.join(" ") });
        set(this.#area, {
            points: `${first},${HEIGHT} ${places.join(" ")} ${WIDTH},${HEIGHT}`,
        });
        setText(this.#most, texts.most(most));
        set(this.#drawing, {
            "aria-label": `${texts.rates}: ${texts.rate(view.sendsPerSecond)}`,
        });
    }
}
