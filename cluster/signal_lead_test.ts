import assert from "node:assert/strict";
import { parseTimeLimit } from "./slurm_values.ts";
import { signalLeadSeconds } from "./signal_lead.ts";
import { refuses } from "./testing.ts";

Deno.test("the signal lead is long enough, and at most half of the time limit", async () => {
  const lead = (text: string, given: number | null = null) =>
    signalLeadSeconds(parseTimeLimit(text), given);
  assert.equal(lead("04:00:00"), 600);
  assert.equal(lead("00:20:00"), 300);
  assert.equal(lead("3"), 60);
  assert.equal(lead("1"), 30);
  assert.equal(lead("04:00:00", 7200), 7200);
  await refuses(() => lead("04:00:00", 7201), ["--warn 7201", "at most 7200 seconds"]);
  await refuses(() => lead("7-00:00:00", 70000), ["at most 65535 seconds"]);
});
