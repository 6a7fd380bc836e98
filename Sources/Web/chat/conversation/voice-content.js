import { element, setAttribute, setChildren, setText } from "../parts/dom.js";
import { fileURL } from "./file-urls.js";
import { formatDuration } from "../parts/formats.js";
import { icon } from "../parts/icons.js";
import { texts } from "../texts.js";

/**
 * @typedef {import("./message-content.js").ContentActions} ContentActions
 * @typedef {import("./message-content.js").ContentView} ContentView
 * @typedef {import("../../client/types.js").Message} Message
 */

const sliderSteps = 100;
/**
 * The format of a voice message's text. The text is the duration of the recording, because the
 * start of the audio file does not contain the duration.
 */
const durationText = /^(\d+):(\d\d)$/;

/** @type {VoiceContent | undefined} */
let playing;

/** The player of a voice message; only one player plays at a time. */
export class VoiceContent {
    #button = element("button", {
        type: "button",
        class: "voice-play",
        "aria-label": texts.message.play,
        onclick: () => this.#toggle(),
    }, icon("play"));
    #slider = element("input", {
        type: "range",
        class: "voice-position",
        min: 0,
        max: sliderSteps,
        value: 0,
        "aria-label": texts.message.position,
        oninput: () => this.#seek(),
    });
    #time = element("span", { class: "voice-time" });
    element = element("div", { class: "voice-content" }, this.#button, this.#slider, this.#time);
    /** @type {Message | undefined} */
    #message;
    /** @type {HTMLAudioElement | undefined} */
    #audio;

    /** @param {ContentActions} actions */
    constructor(actions) {
        this.actions = actions;
    }

    /** @param {ContentView} view */
    render({ message }) {
        if (message.id !== this.#message?.id) this.stop();
        this.#message = message;
        this.#show();
    }

    stop() {
        this.#audio?.pause();
        this.#audio = undefined;
        this.#slider.value = "0";
    }

    async #toggle() {
        if (this.#audio && !this.#audio.paused) return this.#audio.pause();
        if (playing && playing !== this) playing.#audio?.pause();
        playing = this;
        try {
            this.#audio ??= await this.#load();
            await this.#audio?.play();
        } catch (error) {
            console.error("grapevine: a recording cannot be played:", error);
            this.#audio = undefined;
            setText(this.#time, texts.message.voiceMissing);
        }
    }

    async #load() {
        const { blob, conversation } = this.#message ?? {};
        if (!blob || !conversation) throw new Error("the message has no recording");
        const audio = new Audio(await fileURL(blob, () => this.actions.file(conversation, blob)));
        for (const event of ["play", "pause", "ended", "timeupdate"]) {
            audio.addEventListener(event, () => this.#audio === audio && this.#show());
        }
        return audio;
    }

    #seek() {
        if (!this.#audio) return;
        this.#audio.currentTime = Number(this.#slider.value) / sliderSteps * this.#duration();
    }

    #duration() {
        const known = durationText.exec(this.#message?.text ?? "");
        if (known) return Number(known[1]) * 60 + Number(known[2]);
        return Number.isFinite(this.#audio?.duration) ? this.#audio?.duration ?? 0 : 0;
    }

    #show() {
        const isPlaying = this.#audio !== undefined && !this.#audio.paused;
        const position = this.#audio?.currentTime ?? 0;
        const duration = this.#duration();
        const name = isPlaying ? texts.message.pause : texts.message.play;
        if (this.#button.ariaLabel !== name) {
            setAttribute(this.#button, "aria-label", name);
            setChildren(this.#button, icon(isPlaying ? "pause" : "play"));
        }
        this.#slider.disabled = !this.#audio;
        if (duration > 0) {
            this.#slider.value = String(Math.round(position / duration * sliderSteps));
        }
        const shown = formatDuration(isPlaying || position > 0 ? position : duration);
        setText(this.#time, shown);
        setAttribute(this.#slider, "aria-valuetext", shown);
    }
}
