import { asFailure, isFinal } from "../../client/network/failures.js";
import { textButton } from "../parts/button.js";
import { element, setShown } from "../parts/dom.js";
import { texts } from "../texts.js";

/** Milliseconds before a failed request for data is repeated; each failure doubles the pause. */
const pauseMilliseconds = 1_000;
const pauseMillisecondsMax = 30_000;

/**
 * A request for data that is repeated with exponential backoff until it succeeds or fails
 * permanently. After a failure, a line with a "Try Again" button is shown.
 */
export class LoadRetry {
    isFailing = false;
    isAsking = false;
    #pause = pauseMilliseconds;
    #timer = 0;
    /** The number of the current request; the results of earlier requests are ignored. */
    #number = 0;
    #again = () => {};
    element = element(
        "div",
        { class: "load-retry", role: "status", hidden: true },
        element("span", {}, texts.loadFailed),
        textButton(texts.tryAgain, () => this.#again(), "quiet"),
    );

    /** @param {() => void} onChange called when `isFailing` may have changed */
    constructor(onChange) {
        this.onChange = onChange;
    }

    /** @param {() => Promise<unknown>} load */
    async ask(load) {
        clearTimeout(this.#timer);
        const number = this.#number += 1;
        this.#again = () => this.ask(load);
        this.isAsking = true;
        try {
            await load();
            if (number === this.#number) this.#end();
        } catch (error) {
            console.error("grapevine: messages were not loaded:", error);
            if (number !== this.#number) return;
            if (isFinal(asFailure(error).code)) return this.#end();
            this.#timer = setTimeout(this.#again, this.#pause);
            this.#pause = Math.min(this.#pause * 2, pauseMillisecondsMax);
            this.#show(true);
        }
    }

    /** Cancels the request and its repetitions when the result is not needed any more. */
    forget() {
        clearTimeout(this.#timer);
        this.#number += 1;
        this.#end();
    }

    #end() {
        this.isAsking = false;
        this.#pause = pauseMilliseconds;
        if (this.isFailing) this.#show(false);
    }

    /** @param {boolean} isFailing */
    #show(isFailing) {
        this.isFailing = isFailing;
        setShown(this.element, isFailing);
        this.onChange();
    }
}
