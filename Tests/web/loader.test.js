import { ConfirmedState } from "../../Sources/Web/client/state/confirmed.js";
import { Loader } from "../../Sources/Web/client/sync/loader.js";
import { assertEquals, assertRefused } from "./assertions.js";
import { VirtualClock } from "./clock.js";

/** A loader whose nodes answer nothing, and the times at which it looks again. */
function silent() {
    const confirmed = new ConfirmedState("alice");
    const fails = () => Promise.reject({ code: 0, message: "No node answers" });
    return new Loader({
        clock: new VirtualClock(),
        confirmed: () => confirmed,
        isOnline: () => true,
        request: fails,
        readSince: fails,
        isOpen: () => true,
        onChange: () => {},
    });
}

Deno.test("whoever waits for messages that are not loaded is told of it", async () => {
    const loader = silent();
    await assertRefused(loader.loadConversation("lunch"), 0);
    await assertRefused(loader.loadPins("lunch"), 0);
    await assertRefused(loader.loadLists(), 0);
    // It is asked again, not answered with the failure before.
    const [first, second] = [loader.loadPins("lunch"), loader.loadPins("lunch")];
    assertEquals(first === second, true);
    await assertRefused(second, 0);
});
