import assert from "node:assert/strict";
import { parseTimeLimit } from "../configs/types/slurm_values.ts";
import { parseSignalLead, signalLeadNotes, signalLeadSeconds } from "./header.ts";
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

Deno.test("--warn takes seconds, also as sbatch writes them, and says what a short lead means", () => {
  const cases: [string, number][] = [["30", 30], ["USR2@600", 600], ["B:USR2@90", 90]];
  cases.push(["B:SIGUSR2@90", 90], ["12@5", 5]);
  for (const [text, seconds] of cases) assert.equal(parseSignalLead(text), seconds);
  for (const text of ["", "0", "10m", "00:10:00", "-5", "USR2", "USR2@", "1.5"]) {
    assert.throws(() => parseSignalLead(text), /--warn .*: expected seconds, as in --warn 600/);
  }
  assert.throws(() => parseSignalLead("USR1@60"), /--warn USR1@60: the script waits for USR2/);
  assert.deepEqual([null, 60, 600].map(signalLeadNotes), [[], [], []]);
  assert.match(signalLeadNotes(30)[0]!, /--warn 30: in 30 seconds the step under way must end/);
});
