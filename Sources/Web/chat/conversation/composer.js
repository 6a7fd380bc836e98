import { showFailure, showTooLong } from "../dialogs/alert.js";
import { iconButton } from "../parts/button.js";
import { element, setShown, setText } from "../parts/dom.js";
import { formatDuration } from "../parts/formats.js";
import { TextField } from "../parts/text-field.js";
import { texts } from "../texts.js";
import { VoiceRecorder } from "./voice-recorder.js";

const words = texts.composer;
const typingRepeatMilliseconds = 3000;
const typingEndMilliseconds = 5000;
const clockMilliseconds = 250;

/** The input area of a conversation, for texts, files and voice recordings. */
export class Composer {
    /** @type {VoiceRecorder | undefined} */
    #recorder;
    #clock = 0;
    #typedAt = -Infinity;
    #typingEnd = 0;

    #field = new TextField(
        words.field,
        {
            class: "text-field composer-field",
            onpaste: (/** @type {ClipboardEvent} */ event) => this.#onPaste(event),
            onblur: () => this.#endTyping(),
        },
        { onChange: () => this.#onInput(), onEnter: () => this.#sendText() },
    );
    #file = element("input", {
        type: "file",
        hidden: true,
        onchange: () => this.#takeFile(),
    });
    #attach = iconButton("photo", words.attach, () => this.#file.click());
    #send = iconButton("send", words.send, () => this.#sendText(), "composer-send");
    #record = iconButton("microphone", words.record, () => this.#startRecording());
    #input = element(
        "div",
        { class: "composer-input" },
        this.#attach,
        this.#file,
        this.#field.element,
        this.#record,
        this.#send,
    );
    #seconds = element("span", { class: "recording-time" });
    #finish = iconButton("send", words.stop, () => this.#sendRecording(), "composer-send");
    #recording = element(
        "div",
        { class: "recording", hidden: true },
        iconButton("trash", words.discard, () => this.#discard()),
        element("span", { class: "recording-dot", "aria-hidden": "true" }),
        element("span", { role: "status" }, words.recording),
        this.#seconds,
        this.#finish,
    );
    element = element("div", { class: "composer" }, this.#input, this.#recording);

    /**
     * @param {{
     *   send: (text: string) => void,
     *   sendFile: (file: File) => void,
     *   sendVoice: (file: Blob, duration: string) => void,
     *   setTyping: (isTyping: boolean) => void,
     * }} actions
     */
    constructor(actions) {
        this.actions = actions;
        this.#showButtons();
    }

    /** The text that the user has typed but not sent. */
    get draft() {
        return this.#field.value;
    }

    /** @param {string} text */
    set draft(text) {
        this.#field.value = text;
        this.#showButtons();
    }

    focus() {
        this.#field.element.focus();
    }

    /**
     * Discards a voice recording in progress, and ends the user's typing indicator, when the
     * conversation is closed.
     */
    leave() {
        if (this.#recorder) this.#discard();
        this.#endTyping();
    }

    #onInput() {
        this.#showButtons();
        if (this.#field.value === "") return this.#endTyping();
        clearTimeout(this.#typingEnd);
        this.#typingEnd = setTimeout(() => this.#endTyping(), typingEndMilliseconds);
        if (performance.now() - this.#typedAt < typingRepeatMilliseconds) return;
        this.#typedAt = performance.now();
        this.actions.setTyping(true);
    }

    #endTyping() {
        clearTimeout(this.#typingEnd);
        if (this.#typedAt === -Infinity) return;
        this.#typedAt = -Infinity;
        this.actions.setTyping(false);
    }

    #showButtons() {
        setShown(this.#send, !this.#field.isBlank);
        setShown(this.#record, this.#field.isBlank);
    }

    #sendText() {
        if (this.#field.isBlank) return;
        const { excess } = this.#field;
        if (excess > 0) return showTooLong(excess);
        const text = this.#field.value;
        this.draft = "";
        this.#endTyping();
        this.focus();
        this.actions.send(text);
    }

    /** @param {ClipboardEvent} event */
    #onPaste(event) {
        const [file] = event.clipboardData?.files ?? [];
        if (!file) return;
        event.preventDefault();
        this.actions.sendFile(file);
    }

    #takeFile() {
        const [file] = this.#file.files ?? [];
        // The input is reset, so that the same file can be chosen again.
        this.#file.value = "";
        if (file) this.actions.sendFile(file);
    }

    async #startRecording() {
        try {
            this.#recorder = await VoiceRecorder.start();
        } catch (error) {
            return showFailure(error, words.noMicrophone);
        }
        this.#showRecording(true);
        this.#clock = setInterval(() => this.#tick(), clockMilliseconds);
        this.#tick();
    }

    #tick() {
        setText(this.#seconds, formatDuration(this.#recorder?.seconds ?? 0));
        if (this.#recorder?.isFull) this.#sendRecording();
    }

    #discard() {
        this.#recorder?.cancel();
        this.#showRecording(false);
    }

    async #sendRecording() {
        const recorder = this.#recorder;
        if (!recorder) return;
        this.#showRecording(false);
        const { blob, seconds } = await recorder.stop();
        this.actions.sendVoice(blob, formatDuration(Math.max(1, seconds)));
    }

    /** @param {boolean} isRecording */
    #showRecording(isRecording) {
        if (!isRecording) {
            this.#recorder = undefined;
            clearInterval(this.#clock);
        }
        setShown(this.#recording, isRecording);
        setShown(this.#input, !isRecording);
        (isRecording ? this.#finish : this.#record).focus();
    }
}
