/** The short form of the campaign (campaign.ts): it works, and finds no fault. */
import assert from "node:assert/strict";
import { NEEDED, needs } from "../skipped.ts";
import { PARTS, withCampaign } from "./campaign.ts";
import { withFolder } from "../../core/testing.ts";
import { faultLibrary } from "./disk.ts";

const canCompile = await withFolder(faultLibrary) !== null;

for (const [name, part] of Object.entries(PARTS)) {
  Deno.test({
    name: `the campaign of faults finds none in its short form: ${name}`,
    ignore: name === "disk" && needs(canCompile, NEEDED.compiler),
    fn: async () => {
      const { counts, faults } = await withCampaign(true, 1, part);
      assert.ok(Math.max(...counts.values()) > 0);
      assert.deepEqual(faults, []);
    },
  });
}
