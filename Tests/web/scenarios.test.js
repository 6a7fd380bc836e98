import { ScenarioRun } from "./scenario.js";

/** @typedef {import("./scenario.js").Scenario} Scenario */

const folder = new URL("../client/scenarios/", import.meta.url);
const read = (/** @type {string} */ name) =>
    JSON.parse(Deno.readTextFileSync(new URL(name, folder)));

const names = [...Deno.readDirSync(folder)].map(({ name }) => name).sort();
for (const name of names.filter((name) => name.endsWith(".json") && name !== "world.json")) {
    for (const scenario of /** @type {Scenario[]} */ (read(name))) {
        Deno.test(`${name.replace(".json", "")}: ${scenario.name}`, async () => {
            await new ScenarioRun(read("world.json"), scenario).run();
        });
    }
}
