/** Seconds after which a recording is ended and sent; 10 minutes of speech take about 5 MB. */
const secondsMax = 600;

/** A voice recording from the microphone. */
export class VoiceRecorder {
    /** @type {Blob[]} */
    #parts = [];
    #start = performance.now();

    /**
     * Requests access to the microphone and starts recording. Rejects if the user denies access or
     * no microphone is available.
     *
     * @returns {Promise<VoiceRecorder>}
     */
    static async start() {
        const stream = await navigator.mediaDevices.getUserMedia({ audio: true });
        return new VoiceRecorder(stream);
    }

    /** @param {MediaStream} stream */
    constructor(stream) {
        this.stream = stream;
        this.recorder = new MediaRecorder(stream);
        this.recorder.addEventListener("dataavailable", (event) => this.#parts.push(event.data));
        this.recorder.start();
    }

    get seconds() {
        return (performance.now() - this.#start) / 1000;
    }

    get isFull() {
        return this.seconds >= secondsMax;
    }

    /** @returns {Promise<{blob: Blob, seconds: number}>} */
    stop() {
        const seconds = this.seconds;
        return new Promise((resolve) => {
            this.recorder.addEventListener("stop", () => {
                this.#release();
                resolve({ blob: new Blob(this.#parts, { type: this.recorder.mimeType }), seconds });
            }, { once: true });
            this.recorder.stop();
        });
    }

    cancel() {
        if (this.recorder.state !== "inactive") this.recorder.stop();
        this.#release();
    }

    /** Stops the microphone, which also ends the browser's recording indicator. */
    #release() {
        for (const track of this.stream.getTracks()) track.stop();
    }
}
