/**
 * The conformance suite: runs every operation on every device (devices_testing.ts) with many shapes
 * (cases/, one file per operation), and compares the results with the float64 reference
 * (runner_testing.ts). Run it with and without the V8 flags of the engine. Sampling, dropout masks
 * and gradients have separate tests in this folder.
 */
import assert from "node:assert/strict";
import type { Device } from "../device.ts";
import type { HostArray } from "../tensor.ts";
import { casesFor, DEVICES } from "./devices_testing.ts";
import { BRIEF, CARD_TABLES, TABLES } from "./tables_testing.ts";
import { type Case, checkCase, execute } from "./runner_testing.ts";
import { sameBits } from "../testing.ts";

/** The cases of a table, and what each device has found in them, by its name. */
interface Checked {
  table: string;
  all?: Case[];
  brief?: Case[];
  results: Map<Case, Map<string, ReadonlyMap<string, HostArray>>>;
}

/** Only one table is kept: all of them with their results take gigabytes. */
let checked: Checked = { table: "", results: new Map() };

/** Devices whose results others must equal. They run before those. */
const COMPARED = new Set(DEVICES.map(({ sameBitsAs }) => sameBitsAs));

for (const [name, makeCases] of TABLES) {
  for (const { name: deviceName, create, sameBitsAs, someCases = false, ...rest } of DEVICES) {
    if (rest.isCard && !CARD_TABLES.some(([other]) => other === name)) continue;
    const sentence = `${name} on ${deviceName} agrees with the float64 reference`;
    Deno.test(sentence, { ignore: rest.isMissing?.() ?? false }, async () => {
      if (checked.table !== name) checked = { table: name, results: new Map() };
      const { results } = checked;
      const device = await create();
      let like: Device | undefined;
      try {
        const brief = device.adapter?.software ? BRIEF.get(name) : undefined;
        const all = checked.all ??= await makeCases();
        const cases = brief === undefined ? all : checked.brief ??= await brief(all);
        assert.ok(cases.length > 0);
        for (const test of casesFor(cases, device, someCases)) {
          const found = await checkCase(device, test);
          if (COMPARED.has(deviceName)) {
            results.set(test, (results.get(test) ?? new Map()).set(deviceName, found));
          }
          if (sameBitsAs === undefined) continue;
          let wanted = results.get(test)?.get(sameBitsAs);
          if (wanted === undefined) {
            like ??= await DEVICES.find((other) => other.name === sameBitsAs)!.create();
            wanted = await execute(like, test);
          }
          for (const [argument, bits] of wanted) {
            const same = sameBits(bits, found.get(argument)!);
            assert.ok(same, `${test.op} ${test.name}: ${argument} differs from ${sameBitsAs}`);
          }
        }
        assert.equal(device.allocatedBytes, 0);
      } finally {
        device.close();
        like?.close();
      }
    });
  }
}
