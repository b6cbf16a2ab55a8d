import assert from "node:assert/strict";
import { isMinutesAndSeconds, megabytes, parseMemory, parseTimeLimit } from "./slurm_values.ts";
import { UsageError } from "../../core/errors.ts";

/** Checks that a value is refused with this message, and with this in its advice. */
function refuses(work: () => unknown, message: string, advice = ""): void {
  assert.throws(work, (error: unknown) => {
    assert.ok(error instanceof UsageError);
    assert.ok(error.message.startsWith(message), error.message);
    assert.ok((error.advice ?? "").includes(advice), error.advice);
    return true;
  });
}

const seconds = (text: string) => parseTimeLimit(text).seconds;

Deno.test("times have the same meaning as for SLURM", () => {
  assert.deepEqual(
    ["90", "04:30", "04:00:00", "1-12", "1-12:30", "2-01:02:03", "100:00:00"].map(seconds),
    [5400, 270, 14400, 129600, 131400, 176523, 360000],
  );
  assert.ok(isMinutesAndSeconds(parseTimeLimit("04:30")));
  assert.ok(!isMinutesAndSeconds(parseTimeLimit("1-04:30")));
});

Deno.test("an invalid time is refused, and the message shows the format", () => {
  const cases: [string, string][] = [
    ["4h", "is no time"],
    ["", "is no time"],
    ["-1", "is no time"],
    ["4:0:0:0", "is no time"],
    ["04:61:00", "has 61 minutes"],
    ["04:00:75", "has 75 seconds"],
    ["1-25:00:00", "has 25 hours after the days"],
    ["00:00:00", "is no time at all"],
  ];
  for (const [text, why] of cases) {
    refuses(() => parseTimeLimit(text), `--time ${text}: ${why}`, "1-12:00:00");
  }
});

Deno.test("an amount of memory needs a unit", () => {
  assert.deepEqual(["320G", "500m", "64GB", "2TiB", "0"].map((text) => parseMemory(text)), [
    "320G",
    "500M",
    "64G",
    "2T",
    "0",
  ]);
  assert.deepEqual(["2048K", "3M", "2G", "1T"].map(megabytes), [2, 3, 2048, 1048576]);
  refuses(() => parseMemory("320"), "--memory 320: has no unit", "320G");
  for (const text of ["lots", "1.5G", "-4G", "0G", "G"]) {
    refuses(() => parseMemory(text), `--memory ${text}: expected a whole number`);
  }
});
