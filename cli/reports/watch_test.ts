/** What `rgx watch` shows of a run, and its curve in braille. */
import assert from "node:assert/strict";
import { test } from "../../core/testing.ts";
import { writeCompletions, writeRun } from "../../reports/dashboard/testing.ts";
import { rgx, succeeds } from "../../tests/support.ts";
import { textWidth } from "../terminal/terminal.ts";
import { brailleCurve } from "./watch.ts";

Deno.test("a braille curve has its lowest value at the bottom, and no gaps", () => {
  assert.deepEqual(brailleCurve([0, 1], 2, 1), ["⡠⠊"]);
  assert.deepEqual(brailleCurve([0, 10], 1, 2), ["⢸", "⡸"]);
  assert.deepEqual(brailleCurve([5], 2, 1), ["⣀⣀"]);
});

test.inFolder("a run is shown in 80 columns, as one line in a pipe, or as JSON", async (folder) => {
  await writeRun(`${folder}/run`, 40);
  await writeCompletions(`${folder}/run`, 40);
  const watch = async (...flags: string[]) => {
    const { out } = await succeeds(["watch", "run", ...flags], { cwd: folder });
    return out;
  };
  const lines = (await watch("--once")).split("\n");
  assert.equal(lines[0], "run  completed  step 40 of 100");
  assert.equal(lines[1], "held-out accuracy 25.0 % [20.0, 30.0] → 50.0 % [20.0, 30.0]");
  assert.ok(lines.some((line) => /^0\.\d+ [\u2800-\u28ff]{60,}$/.test(line)), lines.join("\n"));
  assert.ok(lines.includes("advice: Look here."));
  assert.ok(lines.includes("      1  <answer>cba</answer>"));
  for (const line of lines) assert.ok(textWidth(line) <= 80, line);
  const inPipe = "run: completed, step 40 of 100, reward 0.4, held-out accuracy 50.0 %\n";
  assert.equal(await watch(), inPipe);
  const { status, step, totalSteps } = JSON.parse(await watch("--json"));
  assert.deepEqual([status, step, totalSteps], ["completed", 40, 100]);
  const { code, err } = await rgx(["watch", folder], { cwd: folder });
  assert.equal(code, 2);
  assert.match(err, /no run in this folder/);
});
