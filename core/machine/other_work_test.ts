import assert from "node:assert/strict";
import { withFolder, writeFiles } from "../testing.ts";
import { type CpuTimes, cpuTimes, otherWork, OtherWorkMeter, otherWorkText } from "./other_work.ts";

async function timesOf(files: Record<string, string>, own: number): Promise<CpuTimes | null> {
  return await withFolder(async (root) => {
    await writeFiles(root, files);
    return cpuTimes(root, own);
  });
}

//                 user nice system idle iowait irq softirq steal guest guest_nice
const BEFORE = "cpu  900 0 100 800 100 0 0 100 50 0\n" +
  "cpu0 500 0 100 300 100 0 0 0 50 0\ncpu1 300 0 0 500 0 0 0 100 0 0\ncpu2 9 0 0 9 0 0 0 0 0 0\n";
const AFTER = "cpu  1100 0 200 850 150 0 0 200 50 0\n" +
  "cpu0 600 0 150 300 150 0 0 0 50 0\ncpu1 400 0 0 500 0 0 0 200 0 0\ncpu2 909 0 0 9 0 0 0 0 0 0\n";
const STATUS = "Name:\trgx\nCpus_allowed_list:\t0-1\n";

Deno.test("others use what is neither idle nor this process's, on the allowed CPUs", async () => {
  const files = (stat: string) => ({ "proc/stat": stat, "proc/self/status": STATUS });
  const before = await timesOf(files(BEFORE), 1), after = await timesOf(files(AFTER), 2.4);
  assert.deepEqual(before, { all: 19, idle: 9, stolen: 1, own: 1 });
  assert.deepEqual(after, { all: 23, idle: 9.5, stolen: 2, own: 2.4 });
  const work = otherWork(before, after)!;
  // Of 4 seconds, 0.5 are idle and 1.4 of this process.
  assert.ok(Math.abs(work.others - 2.1 / 4) < 1e-12);
  assert.equal(work.stolen, 1 / 4);
  assert.equal(otherWorkText(work), "others use 53 % of this machine (its host 25 %)");
});

Deno.test("nothing is said where it is not known, or where others use little", async () => {
  assert.equal(await timesOf({}, 1), null);
  assert.equal(await timesOf({ "proc/self/status": STATUS }, 1), null);
  assert.equal(otherWork(null, null), null);
  const times = { all: 10, idle: 5, stolen: 0, own: 1 };
  assert.equal(otherWork(times, { ...times, all: 10.1 }), null, "too short");
  assert.equal(otherWorkText(null), null);
  assert.equal(otherWorkText({ others: 0.09, stolen: 0 }), null);
  assert.equal(otherWorkText({ others: 0.63, stolen: 0.05 }), "others use 63 % of this machine");
  // Counters of the system and of the process differ by some hundredths.
  assert.equal(otherWork(times, { all: 12, idle: 5, stolen: 0, own: 3.02 })!.others, 0);
});

Deno.test("a meter reads the counters at most once a second", () => {
  let now = 0, reads = 0, used = 0;
  const meter = new OtherWorkMeter(() => {
    reads++;
    return { all: now / 500, idle: 0, stolen: 0, own: used };
  }, () => now);
  assert.equal(meter.current(), null);
  now = 900;
  assert.equal(meter.current(), null);
  assert.equal(reads, 1);
  [now, used] = [1000, 1.5];
  assert.equal(meter.current()!.others, 0.25);
  now = 1999;
  assert.equal(meter.current()!.others, 0.25);
  assert.equal(reads, 2);
  now = 2000;
  assert.equal(meter.current()!.others, 1);
});
