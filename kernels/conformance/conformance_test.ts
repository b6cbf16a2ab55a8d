/**
 * The conformance suite: runs every operation on every device (devices_testing.ts) with many shapes
 * (cases/, one file per operation), and compares the results with the float64 reference
 * (runner.ts). Run it with and without the V8 flags of the engine. Sampling, dropout masks and
 * gradients have separate tests in this folder.
 */
import assert from "node:assert/strict";
import { DEVICES } from "./devices_testing.ts";
import { BRIEF, TABLES } from "./tables.ts";
import { type Case, checkCase, execute } from "./runner.ts";
import { sameBits } from "../testing.ts";
import { someOf } from "../../tests/cases.ts";

for (const [name, makeCases] of TABLES) {
  let table: Case[] | undefined;
  for (const { name: deviceName, create, sameBitsAs, someCases = false, isMissing } of DEVICES) {
    const sentence = `${name} on ${deviceName} agrees with the float64 reference`;
    Deno.test(sentence, { ignore: isMissing?.() ?? false }, async () => {
      const device = await create();
      const like = await DEVICES.find((other) => other.name === sameBitsAs)?.create();
      try {
        const brief = device.adapter?.software ? BRIEF.get(name) : undefined;
        const cases = brief !== undefined ? await brief() : table ??= await makeCases();
        assert.ok(cases.length > 0);
        for (const test of someOf(cases, someCases)) {
          const found = await checkCase(device, test);
          if (like === undefined) continue;
          for (const [argument, bits] of await execute(like, test)) {
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
