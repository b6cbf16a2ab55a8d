import assert from "node:assert/strict";
import { listenForStop, parseDuration, usableSeconds } from "./stop_control.ts";

Deno.test("durations are hours, minutes and seconds", () => {
  assert.equal(parseDuration("03:55:00"), 14_100);
  assert.equal(parseDuration("100:00:01"), 360_001);
  for (const text of ["5", "03:60:00", "3:5:0", "-1:00:00", ""]) {
    assert.throws(() => parseDuration(text), /expected HH:MM:SS/, text);
  }
});

Deno.test("two minutes before the end of a job are reserved, a quarter of a short one", () => {
  assert.equal(usableSeconds(3600), 3480);
  assert.equal(usableSeconds(480), 360);
  assert.equal(usableSeconds(60), 45);
  assert.equal(usableSeconds(0), 0);
});

Deno.test("the earlier of the time limit and the job's end counts, and is the reason", () => {
  const cases: [limit: number | null, job: number | null, reason: string | null][] = [
    [0, null, "the time limit"],
    [1000, 0, "the end of the job"],
    [0, 4000, "the time limit"],
    [null, 4000, null],
    [null, null, null],
  ];
  for (const [limit, job, reason] of cases) {
    const control = listenForStop(limit);
    try {
      control.jobEnds(job);
      assert.equal(control.stopRequested(), reason === null ? "no" : "save");
      assert.equal(control.reason, reason);
    } finally {
      control.close();
    }
  }
});

Deno.test("a signal is noticed while the event loop does not turn", async () => {
  const control = listenForStop(null);
  control.begin();
  try {
    // The Worker that listens needs a moment to start.
    await new Promise((resolve) => setTimeout(resolve, 1000));
    new Deno.Command("kill", { args: ["-USR2", `${Deno.pid}`] }).outputSync();
    const until = performance.now() + 5000;
    while (performance.now() < until && control.stopRequested() === "no");
    assert.equal(control.stopRequested(), "save");
    assert.equal(control.reason, "SIGUSR2");
  } finally {
    // Time for the listener of this process.
    await new Promise((resolve) => setTimeout(resolve, 50));
    control.close();
  }
});

Deno.test("a signal after the end of the work does not change the exit code", async () => {
  const module = new URL("./stop_control.ts", import.meta.url).href;
  const program = (signal: string) => `
    const { listenForStop } = await import(${JSON.stringify(module)});
    const control = listenForStop(null);
    control.begin();
    control.ended();
    new Deno.Command("kill", { args: ["-${signal}", String(Deno.pid)] }).outputSync();
    await new Promise((resolve) => setTimeout(resolve, 100));
    Deno.exit(3);`;
  for (const signal of ["TERM", "USR2", "INT", "HUP"]) {
    const { code, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["eval", "--quiet", program(signal)],
    }).output();
    assert.deepEqual([code, new TextDecoder().decode(stderr)], [3, ""], signal);
  }
});

Deno.test("the time limit does not count a pause of the process", async () => {
  const module = new URL("./stop_control.ts", import.meta.url).href;
  const program = `
    const { listenForStop } = await import(${JSON.stringify(module)});
    const control = listenForStop(3), tick = () => new Promise((done) => setTimeout(done, 20));
    // The pause may come right after the text.
    let last = performance.now();
    console.log("begun");
    for (let now; (now = performance.now()) < last + 3000; last = now) await tick();
    console.log(control.stopRequested());
    while (control.stopRequested() === "no") await tick();
    console.log(control.reason);
    Deno.exit(0);`;
  const child = new Deno.Command(Deno.execPath(), {
    args: ["eval", "--quiet", program],
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const output = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  const line = async () => (await output.read()).value?.trim();
  assert.equal(await line(), "begun");
  child.kill("SIGSTOP");
  await new Promise((done) => setTimeout(done, 4000));
  child.kill("SIGCONT");
  assert.equal(await line(), "no");
  assert.equal(await line(), "the time limit");
  assert.equal((await child.status).code, 0);
  await output.cancel();
});
