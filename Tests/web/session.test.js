import { Session } from "../../Sources/Web/client/network/session.js";
import { MemoryStore } from "../../Sources/Web/client/store/store.js";
import { Push } from "../../Sources/Web/client/sync/push.js";
import { SingleTab } from "../../Sources/Web/client/sync/tabs.js";
import { assertEquals, assertRefused } from "./assertions.js";
import { VirtualClock } from "./clock.js";

/** The sign-in of a device whose nodes have ended it: they refuse to renew it. */
class Device {
    ends = /** @type {unknown[]} */ ([]);
    store = new MemoryStore();
    session;

    constructor() {
        const calls = { send: () => Promise.reject({ code: 401, message: "It was ended" }) };
        this.session = new Session({
            store: this.store,
            tabs: new SingleTab(),
            clock: new VirtualClock(),
            calls: /** @type {any} */ (calls),
            makeID: () => "renewal",
            onEnd: (reason) => this.ends.push(reason),
        });
    }

    async signIn() {
        const tokens = { user: "alice", accessToken: "a", refreshToken: "r", expiresIn: 900 };
        await this.session.accept(tokens, "alice@example.org");
    }
}

Deno.test("a sign-in that was ended elsewhere is told of", async () => {
    const device = new Device();
    await device.signIn();
    await assertRefused(device.session.accessToken("a"), 401);
    assertEquals(device.ends, [{ code: 401, message: "It was ended" }]);
});

Deno.test("one that the user ends is not, though nodes refuse its token before they answer", async () => {
    const device = new Device();
    await device.signIn();
    /** @type {Promise<string> | undefined} */
    let refused;
    await device.session.change(async ({ accessToken }) => {
        assertEquals(await accessToken(), "a");
        // The node closes the socket of the sign-in.
        refused = device.session.accessToken("a");
        refused.catch(() => {});
        await new Promise((resolve) => setTimeout(resolve));
        await device.session.end();
    });
    await assertRefused(/** @type {Promise<string>} */ (refused), 401);
    assertEquals(device.ends, []);
});

Deno.test("the push device and the access token keep entries of their own", async () => {
    const device = new Device();
    await device.signIn();
    /** @type {string[]} */
    const paths = [];
    /** Returns the part of the client that a page opens after it was loaded. */
    const open = async () => {
        const push = new Push(
            /** @type {any} */ ({
                store: device.store,
                makeID: () => "phone",
                calls: { send: () => Promise.resolve({}) },
                session: device.session,
                connection: {
                    post: (/** @type {string} */ _, /** @type {string} */ path) => paths.push(path),
                },
            }),
        );
        await push.open();
        return push;
    };
    await (await open()).enable({ endpoint: "https://push.example.org" });
    assertEquals(await device.session.device(), "a");
    await device.session.accept(
        { user: "alice", accessToken: "b", refreshToken: "r", expiresIn: 900 },
        "alice@example.org",
    );
    (await open()).setViewing("lunch");
    assertEquals(paths, ["/v1/devices/phone/viewing"]);
    assertEquals(await device.session.device(), "b");
});
