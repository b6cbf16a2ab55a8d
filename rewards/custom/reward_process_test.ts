/**
 * Real processes of rewards: which errors they survive, which ones end them, and that no process is
 * left.
 */
import assert from "node:assert/strict";
import { withFolder } from "../../core/testing.ts";
import { input, withReward } from "../testing.ts";
import { NEEDED, needs } from "../../tests/skipped.ts";

const inputs = (...completions: string[]) => completions.map((completion) => input(completion));
const hasProc = Deno.build.os === "linux";

/** Process ids of the hosts that are children of `parent`. */
async function hosts(parent: number): Promise<number[]> {
  const found: number[] = [];
  for await (const { name } of Deno.readDir("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const stat = await Deno.readTextFile(`/proc/${name}/stat`);
      const [, ppid] = /^\d+ \(.*\) \S+ (\d+)/s.exec(stat) ?? [];
      const command = await Deno.readTextFile(`/proc/${name}/cmdline`);
      if (Number(ppid) === parent && command.includes("rewards/custom/host.ts")) {
        found.push(Number(name));
      }
    } catch {
      // The process has ended in the meantime.
    }
  }
  return found;
}

async function until(what: string, isSo: () => Promise<boolean>): Promise<void> {
  for (const end = performance.now() + 20_000; performance.now() < end;) {
    if (await isSo()) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  assert.fail(`never: ${what}`);
}

Deno.test("a reward that takes memory without end costs its sample", async () => {
  const source = `const kept = [];
    export default ({ completion }) => {
      if (completion === "objects") for (;;) kept.push(new Array(1e5).fill(Math.random()));
      if (completion === "buffers") for (;;) kept.push(new Uint8Array(5e7).fill(1));
      return 1;
    }`;
  await withReward(source, async (rubric) => {
    const { values, errors } = await rubric.score(inputs("a", "objects", "b", "buffers", "c"));
    assert.deepEqual(values, [[1], [0], [1], [0], [1]]);
    assert.deepEqual(errors.map(({ completion }) => completion), ["objects", "buffers"]);
    for (const { message } of errors) {
      assert.equal(message, "took more than 1024 MiB of memory, its process was ended");
    }
  }, { timeout: 60 });
});

Deno.test("what a reward prints, and odd numbers, do not disturb the messages", async () => {
  const source = `export default ({ logExtra }) => {
      for (const way of ["log", "info", "debug", "dir", "dirxml", "table", "count", "group"]) {
        console[way]("printed");
      }
      console.time("t"); console.timeLog("t"); console.timeEnd("t"); console.clear();
      logExtra("low", -Infinity); logExtra("none", NaN); logExtra("text", "\\ud800\\n\\u2028");
      return 0.1;
    }`;
  await withReward(source, async (rubric) => {
    const { values, errors, extras } = await rubric.score(inputs("a", "b"));
    assert.deepEqual(errors, []);
    assert.deepEqual(values, [[0.1], [0.1]]);
    assert.deepEqual(extras.get("low"), [-Infinity, -Infinity]);
    assert.deepEqual(extras.get("none"), [NaN, NaN]);
    assert.deepEqual(extras.get("text"), ["\ud800\n\u2028", "\ud800\n\u2028"]);
  });
});

Deno.test("closing ends the batch that is being scored; a new one can be scored", async () => {
  const source = `export default ({ completion }) => {
      if (completion === "loop") for (;;);
      return 1;
    }`;
  await withReward(source, async (rubric) => {
    // The process is started before the batch, so half a second is enough to reach the loop.
    await rubric.score(inputs("a"));
    const scores = rubric.score(inputs("a", "loop", "b"));
    await new Promise((resolve) => setTimeout(resolve, 500));
    await rubric.close();
    const { errors } = await scores;
    // A busy machine may not even have finished the first one.
    const ended = errors.filter(({ completion }) => completion !== "a");
    assert.deepEqual(ended.map(({ completion }) => completion), ["loop", "b"]);
    for (const { message } of errors) assert.equal(message, "scoring was ended");
    assert.deepEqual((await rubric.score(inputs("c"))).values, [[1]]);
  }, { timeout: 600 });
});

Deno.test({
  name:
    "signals to the whole group leave the process alone; one that is killed costs a sample at most",
  ignore: needs(hasProc, NEEDED.system),
  fn: () =>
    withReward("let n = 0; export default () => ++n;", async (rubric) => {
      // Other tests of this process may have theirs.
      const others = await hosts(Deno.pid);
      assert.deepEqual((await rubric.score(inputs("a"))).values, [[1]]);
      const [pid] = (await hosts(Deno.pid)).filter((id) => !others.includes(id));
      for (const signal of ["SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2"] as const) {
        Deno.kill(pid!, signal);
      }
      assert.deepEqual((await rubric.score(inputs("a"))).values, [[2]]);
      Deno.kill(pid!, "SIGKILL");
      await until("the process is gone", async () => !(await hosts(Deno.pid)).includes(pid!));
      assert.deepEqual((await rubric.score(inputs("a", "b"))).values, [[1], [2]]);
      await rubric.close();
      const left = (await hosts(Deno.pid)).filter((id) => !others.includes(id));
      assert.deepEqual(left, []);
    }),
});

Deno.test({
  name: "no process is left when the program is killed while its reward hangs",
  ignore: needs(hasProc, NEEDED.system),
  fn: async () => {
    await withFolder(async (folder) => {
      await Deno.writeTextFile(`${folder}/loop.js`, "export default () => { for (;;); }");
      const section = { name: "m", weight: 1, params: {}, timeout: 600 };
      const file = { path: `${folder}/loop.js` };
      await Deno.writeTextFile(
        `${folder}/program.ts`,
        `import { createRubric } from ${JSON.stringify(new URL("../rubric.ts", import.meta.url))};
         import { input } from ${JSON.stringify(new URL("../testing.ts", import.meta.url))};
         await createRubric([${JSON.stringify({ ...section, file })}]).score([input("a")]);`,
      );
      const config = new URL("../../deno.json", import.meta.url).pathname;
      const program = new Deno.Command(Deno.execPath(), {
        args: ["run", "-A", "--no-check", "--config", config, `${folder}/program.ts`],
        stdin: "null",
        stdout: "null",
      }).spawn();
      let left: number[] = [];
      await until("it is scoring", async () => (left = await hosts(program.pid)).length > 0);
      await new Promise((resolve) => setTimeout(resolve, 500));
      program.kill("SIGKILL");
      await program.status;
      const gone = async () => {
        const alive = left.map((pid) => Deno.stat(`/proc/${pid}`).then(() => true, () => false));
        return !(await Promise.all(alive)).includes(true);
      };
      await until("its child has ended", gone);
    });
  },
});
