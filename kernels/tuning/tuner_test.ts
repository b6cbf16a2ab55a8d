/**
 * The tuner around its process: crashes, hangs, the cache, a second process. The process itself is
 * played by shell scripts; tune_call_test.ts measures kernels.
 */
import assert from "node:assert/strict";
import { lockFolder } from "../../core/lock.ts";
import type { RecordedCall } from "../ops/common/recorded_call.ts";
import { choicesFolder, keepChoices, measurableOn, readChoices } from "./kept_choices.ts";
import { tune, type TuneOptions } from "./tuner.ts";
import { decodeJob, encodeJob } from "./worker.ts";

const ABOUT = measurableOn("webgpu", { name: "card", vendor: 1, device: 2, software: false });

const call = (name: string, m: number): RecordedCall => ({
  point: "matmul",
  op: "matmul",
  class: name,
  count: 1,
  computeDtype: "float32",
  scalars: { m, n: 1, k: 1 },
  tensors: {},
});

const line = (value: object) => `echo '${JSON.stringify(value)}'`;
const trying = (name: string, candidate: string) =>
  line({ event: "trying", class: name, candidate });
const wrongly = (name: string, candidate: string, reason: string) =>
  line({ event: "wrong", class: name, candidate, reason });
const tuned = (name: string, choice: string, wrong: string | null = null) =>
  line({
    event: "tuned",
    tuned: {
      class: name,
      choice,
      rule: "rule",
      candidates: [{ name: "rule", ms: 2, wrong: null }, { name: choice, ms: 1, wrong }],
    },
  });
const done = line({ event: "done" });

async function inCache(
  work: (tuneWith: typeof run, cache: string) => Promise<void>,
): Promise<void> {
  const cache = await Deno.makeTempDir();
  const run = (
    script: string[],
    names: string[] = ["big", "small"],
    more: Partial<TuneOptions> = {},
  ) =>
    tune(names.map((name, i) => call(name, 10 - i)), {
      about: ABOUT,
      card: null,
      budgetMs: 10_000,
      cache,
      command: ["sh", "-c", ["job=$(cat)", ...script].join("\n")],
      ...more,
    });
  try {
    await work(run, cache);
  } finally {
    await Deno.remove(cache, { recursive: true });
  }
}
declare const run: (
  script: string[],
  names?: string[],
  more?: Partial<TuneOptions>,
) => ReturnType<typeof tune>;

Deno.test("measured kernels are kept, and the next time nothing is measured", () =>
  inCache(async (run) => {
    const first = await run([
      tuned("big", "tile"),
      "echo from a driver",
      tuned("small", "tile"),
      done,
    ]);
    assert.deepEqual([first.measured, first.known, first.left], [2, 0, 0]);
    assert.equal(first.choices["big"]!.kernel, "tile");
    assert.deepEqual(first.choices["big"], { kernel: "tile", ms: 1, rule: "rule", rule_ms: 2 });
    const again = await run(["exit 1"]);
    assert.deepEqual([again.measured, again.known, again.left], [0, 2, 0]);
    assert.deepEqual(again.choices, first.choices);
    assert.deepEqual(again.notes, []);
    // One more class: only this one is asked for.
    const more = await run(
      ['case "$job" in *big*) exit 1;; esac', tuned("third", "tile"), done],
      ["big", "third"],
    );
    assert.deepEqual([more.measured, more.known, more.left], [1, 1, 0]);
  }));

Deno.test("a candidate that crashes the driver is noted, and not tried again", () =>
  inCache(async (run) => {
    const crash = [
      'case "$job" in *"ended (SIGSEGV)"*) ;; *)',
      trying("big", "bad one"),
      `printf '{"event":"tun'; kill -SEGV $$;;`,
      "esac",
    ];
    const found = await run([...crash, tuned("big", "tile"), tuned("small", "tile"), done]);
    assert.equal(found.measured, 2);
    assert.deepEqual(found.bad, { big: { "bad one": "its process ended (SIGSEGV)" } });
    assert.match(found.notes.join(), /big: the kernel "bad one" is not used on this card/);
    // The cache remembers it for another class's measurement of the same kind.
    assert.deepEqual((await run(["exit 1"])).bad, found.bad);
  }));

/** The file of the card, or null while there is none. */
async function fileOf(cache: string) {
  const { note: _, ...kept } = await readChoices(choicesFolder(ABOUT, cache)!, ABOUT);
  return kept;
}

Deno.test("what is found is in the file at once, and the next measurement goes on from it", () =>
  inCache(async (run, cache) => {
    const begin = [tuned("big", "tile"), trying("small", "one"), trying("small", "two")];
    const killed = run([...begin, "exec sleep 60"], undefined, {
      again: true,
      silenceMs: 1000,
      budgetMs: 500,
    });
    // While the process still runs:
    let kept = await fileOf(cache);
    while (kept.running?.candidate !== "two") {
      await new Promise((resolve) => setTimeout(resolve, 20));
      kept = await fileOf(cache);
    }
    assert.equal(kept.choices["big"]!.kernel, "tile");
    assert.deepEqual(kept.running, { class: "small", candidate: "two" });
    assert.deepEqual(kept.unfinished, ["big"]);
    // As if it had been killed there, twice.
    const path = `${choicesFolder(ABOUT, cache)!}/choices.json`;
    const text = await Deno.readTextFile(path);
    await killed;
    await Deno.writeTextFile(path, text);
    const goOn = () => run([tuned("small", "one"), done], undefined, { again: true });
    const once = await goOn();
    assert.deepEqual([once.measured, once.known, once.left, once.notes], [1, 1, 0, []]);
    const ended = JSON.stringify({ small: { two: 1 } });
    await Deno.writeTextFile(path, text.replace('"ended": {}', `"ended": ${ended}`));
    const next = await goOn();
    assert.deepEqual([next.measured, next.known, next.left], [1, 1, 0]);
    assert.match(next.notes.join(), /"two" is not used .* was ended 2 times while it was tried/);
    kept = await fileOf(cache);
    assert.deepEqual([kept.running, kept.ended, kept.unfinished], [null, {}, null]);
    // A measurement that has come to its end begins anew.
    const anew = await run([tuned("big", "other"), tuned("small", "other"), done], undefined, {
      again: true,
    });
    assert.deepEqual([anew.measured, anew.known], [2, 0]);
  }));

Deno.test("a process that hangs is ended, and one that never starts measures nothing", () =>
  inCache(async (run) => {
    const hangs = [
      'case "$job" in *"did not answer"*) ;; *)',
      trying("big", "slow"),
      "exec sleep 60;; esac",
    ];
    const found = await run([...hangs, tuned("big", "tile"), done], ["big"], { silenceMs: 300 });
    assert.deepEqual(found.bad, { big: { slow: "it did not answer for 0.3 s" } });
    assert.equal(found.measured, 1);
    const never = await run([], ["other"], { command: ["/does/not/exist"] });
    assert.deepEqual([never.measured, never.left], [0, 1]);
    assert.match(never.notes.join(), /not measured: .*exist cannot be started: no such program/);
    const fails = await run(["exit 3"], ["other"]);
    assert.match(fails.notes.join(), /not measured: its process ended \(exit code 3\)/);
  }));

Deno.test("a wrong kernel and a call that does not fit into the card are reported", () =>
  inCache(async (run) => {
    const failed = line({ event: "failed", class: "small", reason: "out of memory" });
    const wrong = wrongly("big", "rule", "element 3 is 7");
    const found = await run([wrong, tuned("big", "rule", "element 3 is 7"), failed, done]);
    assert.deepEqual(found.bad, { big: { rule: "element 3 is 7" } });
    assert.deepEqual([found.measured, found.left], [1, 1]);
    assert.match(found.notes.join("\n"), /element 3 is 7\nsmall was not measured: out of memory/);
  }));

Deno.test("without a folder that can be written, kernels are measured and not kept", () =>
  inCache(async (run, cache) => {
    await Deno.writeTextFile(`${cache}/kernels`, "a file where a folder should be");
    const found = await run([tuned("big", "tile"), tuned("small", "tile"), done]);
    assert.equal(found.measured, 2);
    assert.match(found.notes.join(), /^the measured kernels are used, but not kept: .*kernels/);
    assert.equal(found.notes.length, 1, "told once");
    const none = await run([tuned("big", "tile"), done], ["big"], { cache: null });
    assert.equal(none.measured, 1);
  }));

Deno.test("two processes measure a card one after the other", () =>
  inCache(async (run, cache) => {
    const both = await Promise.all([
      run(["sleep 0.2", tuned("big", "first"), done], ["big"]),
      run(["sleep 0.2", tuned("big", "second"), done], ["big"]),
    ]);
    // The second one has waited, and found what the first one measured.
    assert.deepEqual(both.map(({ measured }) => measured).sort(), [0, 1]);
    assert.deepEqual(both[0]!.choices, both[1]!.choices);
    const folder = choicesFolder(ABOUT, cache)!;
    assert.deepEqual([...Deno.readDirSync(folder)].map(({ name }) => name), ["choices.json"]);
  }));

Deno.test("who waits for another process takes what that has found, within the time it has", () =>
  inCache(async (run, cache) => {
    const folder = choicesFolder(ABOUT, cache)!;
    await Deno.mkdir(folder, { recursive: true });
    const lock = await lockFolder(folder);
    const never = ["exit 1"];
    // The other one measures for longer than this one may wait.
    let waits = 0;
    const busy = await run(never, ["big"], { budgetMs: 10, onWait: () => waits++ });
    assert.equal(waits, 1);
    assert.deepEqual([busy.measured, busy.known, busy.left], [0, 0, 1]);
    assert.ok(busy.waitedMs >= 10, `${busy.waitedMs}`);
    assert.match(busy.notes.join(), /another process has measured .* all the time/);
    // It finds what this one needs, and goes on. What it is at is not taken for a crash.
    await keepChoices(folder, ABOUT, { running: { class: "big", candidate: "tile" } });
    const waiting = run(never, ["big"]);
    const choice = { kernel: "tile", ms: 1, rule: "rule", rule_ms: 2 };
    await keepChoices(folder, ABOUT, { choices: { big: choice } });
    const found = await waiting;
    assert.deepEqual([found.measured, found.known, found.left], [0, 1, 0]);
    assert.deepEqual([found.choices["big"], found.bad, found.notes], [choice, {}, []]);
    // What is left of the time is for the measurement.
    setTimeout(() => lock.release(), 100);
    const limit = `ms=$(printf %s "$job" | sed 's/.*"budgetMs":\\([0-9]*\\).*/\\1/')
      [ "$ms" -le 9950 ] || exit 1`;
    const after = await run([limit, tuned("small", "tile"), done], ["small"]);
    assert.equal(after.measured, 1);
    assert.ok(after.waitedMs >= 50, `${after.waitedMs}`);
  }));

Deno.test("a job is the same after it was written and read, with its tables", () => {
  const words = Uint32Array.of(1, 2 ** 32 - 1);
  const tensor = { dtype: "u32" as const, block: 0, offset: 64, length: 2, words };
  const job = {
    device: "webgpu",
    card: 1,
    calls: [{ ...call("big", 3), tensors: { table: tensor } }],
    bad: { big: { tile: "wrong" } },
    budgetMs: 5,
  };
  assert.deepEqual(decodeJob(encodeJob(job)), job);
});
