/** Milliseconds after which a press counts as a long press. */
const pressMilliseconds = 500;
/** CSS pixels of finger movement above which a press is cancelled as a scroll or swipe. */
const moveMax = 10;
const vibrationMilliseconds = 20;

/**
 * Calls `action` on a long press, on a context menu event (right click, menu key, Shift+F10), and
 * on Enter if the target itself has the focus, and not an element inside the target. A long press
 * also vibrates.
 *
 * @param {HTMLElement} target
 * @param {() => void} action
 */
export function onLongPress(target, action) {
    const press = new Press(action);
    target.addEventListener("pointerdown", (event) => press.onDown(event));
    target.addEventListener("pointermove", (event) => press.onMove(event));
    target.addEventListener("pointerup", () => press.cancel());
    target.addEventListener("pointercancel", () => press.cancel());
    target.addEventListener("contextmenu", (event) => {
        event.preventDefault();
        press.onContextMenu();
    });
    target.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" || event.target !== target) return;
        event.preventDefault();
        action();
    });
}

/** The long-press detector for a touch or a pen. */
class Press {
    #timer = 0;
    #start = { x: 0, y: 0 };
    #isDown = false;
    #isHandled = false;

    /** @param {() => void} action */
    constructor(action) {
        this.action = action;
    }

    /** @param {PointerEvent} event */
    onDown(event) {
        this.cancel();
        this.#isHandled = false;
        if (event.pointerType === "mouse") return;
        this.#isDown = true;
        this.#start = { x: event.clientX, y: event.clientY };
        this.#timer = setTimeout(() => this.#onLong(), pressMilliseconds);
    }

    /** @param {PointerEvent} event */
    onMove(event) {
        const distance = Math.hypot(event.clientX - this.#start.x, event.clientY - this.#start.y);
        if (distance > moveMax) this.cancel();
    }

    cancel() {
        clearTimeout(this.#timer);
        this.#isDown = false;
    }

    /**
     * Calls the action on a context menu event, unless the timer of the same long press has called
     * it. The browser may send the event before or after that timer expires.
     */
    onContextMenu() {
        if (this.#isHandled) return;
        if (this.#isDown) this.#onLong();
        else this.action();
    }

    #onLong() {
        this.cancel();
        this.#isHandled = true;
        ignoreClick();
        navigator.vibrate?.(vibrationMilliseconds);
        this.action();
    }
}

/**
 * Ignores the click at the end of a long press, which would activate an element that has appeared
 * under the finger.
 */
function ignoreClick() {
    const ignore = (/** @type {Event} */ event) => {
        event.preventDefault();
        event.stopPropagation();
    };
    const options = { capture: true, once: true };
    addEventListener("click", ignore, options);
    addEventListener("pointerdown", () => removeEventListener("click", ignore, options), options);
}
