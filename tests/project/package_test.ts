/**
 * The package that `deno task build:package` writes: a program in an empty folder uses it with one
 * line of its deno.json, and `deno publish` takes it.
 */
import assert from "node:assert/strict";
import { runCommand } from "../../core/machine/run_command.ts";
import { test } from "../../core/testing.ts";
import { buildPackage } from "../../tools/package/build.ts";
import { argv } from "../command_line.ts";
import { root } from "../support.ts";

/** Runs Deno without the settings of this project, and returns both of its streams. */
async function deno(cwd: string, ...args: string[]): Promise<string> {
  const env = { NO_COLOR: "1" };
  const { out, err } = (await runCommand([Deno.execPath(), ...args], { cwd, env }))!;
  return out + err;
}

/** Tasks with data files, a reward in a sandbox, kernels on several threads, and a report. */
const REWARD = "export default ({ completion }) => completion.length / 100;";
const PROGRAM = `
import { createDataset, train, writeReport } from "@rgx/rgx";
console.log(createDataset("arc_agi", { seed: 1 }).entry(0).question.length > 100);
const summary = await train({
  config: "quickstart",
  overrides: {
    model: { init: { hidden_size: 32, intermediate_size: 48 } },
    training: { max_steps: 1, output_dir: "runs/a" },
    sft: { max_steps: 1 },
    eval: { num_examples: 2 },
    rewards: [{ path: "./mine.ts" }],
  },
  device: "wasm",
  threads: 2,
});
console.log(summary.status, (await writeReport("runs/a")).html);
`;

test.inFolder("the package works in an empty folder and from a server, and can be published", async (parent) => {
  const packed = `${parent}/package`, folder = `${parent}/mine`;
  await buildPackage(packed);
  await Deno.mkdir(`${folder}/runs`, { recursive: true });
  await Deno.writeTextFile(`${folder}/mine.ts`, REWARD);
  await Deno.writeTextFile(`${folder}/program.ts`, PROGRAM);
  const writeLine = (address: string) =>
    Deno.writeTextFile(`${folder}/deno.json`, `{ "imports": { "@rgx/rgx": "${address}" } }`);
  await writeLine("../package/mod.ts");
  // With the permissions of docs/library.md, and that of the reward file.
  const page = await Deno.readTextFile(new URL("docs/library.md", root));
  const written = /^ {4}deno run (--allow.*) my_program\.ts$/m.exec(page)![1]!;
  const rights = [...written.replace("../rgx/dist/package", "../package").split(" ")];
  assert.match(page, /^\| `--allow-run` +\| .*files of rewards/m);
  const flags = [...rights, "--allow-run", "--no-prompt", "--no-check", "--quiet"];
  const run = await deno(folder, "run", ...flags, "program.ts");
  assert.equal(run, "true\ncompleted runs/a/report.html\n");

  // Types are those of `deno check`, under this project's stricter settings.
  const dry = ["--dry-run", "--allow-dirty", "--no-check"];
  const published = await deno(packed, "publish", ...dry);
  assert.match(published, /Success.*Dry run complete/);
  assert.doesNotMatch(published, /error\[|slow-type/);
  assert.doesNotMatch(published, /_test\.ts|_testing\.ts/);

  // A registry has it on a server.
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {} },
    async (request) => {
      const file = packed + new URL(request.url).pathname;
      const kind = file.endsWith(".js") ? "text/javascript" : "text/typescript";
      return new Response(await Deno.readFile(file), { headers: { "content-type": kind } });
    },
  );
  try {
    const host = `127.0.0.1:${server.addr.port}`;
    await writeLine(`http://${host}/mod.ts`);
    await Deno.remove(`${folder}/runs/a`, { recursive: true });
    const all = ["read", "write", "env", "sys", "ffi", "run"].map((name) => `--allow-${name}`);
    const served = await deno(
      folder,
      ...argv`run ${all} --allow-import=${host} --no-check --quiet program.ts`,
    );
    assert.equal(served, "true\ncompleted runs/a/report.html\n");
    // Deno keeps what it loads from a server, and the next server has another port.
    const { modulesCache } = JSON.parse(await deno(folder, "info", "--json"));
    const name = `127.0.0.1_PORT${server.addr.port}`;
    await Deno.remove(`${modulesCache}/http/${name}`, { recursive: true });
  } finally {
    await server.shutdown();
  }
});
