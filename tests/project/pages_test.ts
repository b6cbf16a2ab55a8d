/**
 * README and the pages of docs/ as a reader tries them: their commands are run by a shell in a
 * scratch folder, which has the files that the pages show, and small models and runs under the
 * names that they use. `page_commands.ts` says what is changed, and why. RGX_TEST_PAGE is a pattern
 * of the pages to try.
 */
import assert from "node:assert/strict";
import { runCommand } from "../../core/machine/run_command.ts";
import { withFolder } from "../../core/testing.ts";
import config from "../../deno.json" with { type: "json" };
import { resultFileBytes } from "../../bench/results/result_file.ts";
import { allTasksFile } from "../../bench/results/testing.ts";
import { goldenPath } from "../golden.ts";
import { askHost, HOST, namesIn, type Result, root, runs, served } from "../support.ts";
import {
  blockWith,
  commandsOf,
  filesOf,
  outputsOf,
  type PageCommand,
  planOf,
  writeProgram,
} from "./page_commands.ts";

/** These have a test of their own (`coming_from_test.ts`), or list what others have. */
const OTHERS = ["coming_from.md", "foreign_keys.md", "deviations.md"];

const PAGES = [
  "README.md",
  "CONTRIBUTING.md",
  ...namesIn(new URL("docs/", root))
    .filter((name) => name.endsWith(".md") && !OTHERS.includes(name)).sort()
    .map((name) => `docs/${name}`),
];
const read = (page: string) => Deno.readTextFileSync(new URL(page, root));

/** A run takes one step, on few problems. What a command sets itself wins. */
const SMALL = {
  RGX_TRAINING__MAX_STEPS: "1",
  RGX_SFT__MAX_STEPS: "1",
  RGX_EVAL__NUM_EXAMPLES: "2",
};

/** No job, no card, no Hub, no terminal. */
const PLACE = {
  NO_COLOR: "1",
  SLURM_JOB_ID: "",
  CUDA_VISIBLE_DEVICES: "",
  HF_HUB_OFFLINE: "1",
  RGX_NUM_THREADS: "1",
};

const QWEN = "Qwen/Qwen2.5-7B-Instruct";

/** Folders under the names that pages use: models of a few kB, and copies of one run. */
const MODELS = ["model", "models/tiny-llama", "tiny-llama", "smollm2", "models/smollm2"];
const RUNS = [
  "runs/a",
  "runs/b",
  "experiments/leg_counting",
  "experiments/mine",
  "experiments/my-run",
  "shared/runs",
];

/** A model in one part. */
const SHARD = "model-00001-of-00001.safetensors";

/** The names of the tensors in a safetensors file. */
function tensorsIn(path: string): string[] {
  const bytes = Deno.readFileSync(path);
  const length = Number(new DataView(bytes.buffer).getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + length)));
  return Object.keys(header).filter((name) => name !== "__metadata__");
}

/** A command without anything that a shell would read. */
const PLAIN = /^rgx(?: (?!--ranks)[\w./:=@,+-]+)+$/;

/** A stand-in for SLURM's program: the script must be one. */
const SBATCH = `#!/bin/sh\nfor last; do :; done\nbash -n "$last" && echo 7\n`;

class Reader {
  /** The servers that run, by their ports in the page: the address, and how to end it. */
  readonly #servers = new Map<string, { origin: string; end: () => Promise<number> }>();

  constructor(readonly folder: string) {}

  /** Writes the files, and makes the runs. */
  async prepare(): Promise<void> {
    const { folder } = this;
    await writeProgram(folder);
    await Deno.writeTextFile(`${folder}/bin/sbatch`, SBATCH, { mode: 0o755 });
    for (const page of PAGES) {
      for (const [name, text] of filesOf(read(page))) {
        await this.#write(name, text);
      }
    }
    for (const name of MODELS) await this.#copy(goldenPath("models/stories260k"), name);
    for (const command of ["rgx train quickstart --quiet", "rgx train my.yaml --quiet"]) {
      await this.run(command, "prepare");
    }
    for (const name of RUNS) await this.#copy(`${folder}/experiments/my`, name);
    await this.#copy(`${folder}/runs/a/checkpoint-1`, "runs/a/checkpoint-50");
    await this.run("rgx export experiments/my --to gguf --output model.gguf", "prepare");
    await this.#copy(goldenPath("fsdp/fsdp2/actor"), "global_step_100/actor");
    await Deno.mkdir(`${folder}/global_step_100/actor/huggingface`);
    await Deno.copyFile(
      goldenPath("fsdp/config.json"),
      `${folder}/global_step_100/actor/huggingface/config.json`,
    );
    await this.#copy(`${folder}/model`, "sharded-model");
    await Deno.rename(
      `${folder}/sharded-model/model.safetensors`,
      `${folder}/sharded-model/${SHARD}`,
    );
    const counts = { "experiments/leg_counting_qwen7b/checkpoint-450": 9, [QWEN]: 5 };
    await Deno.writeFile(
      `${folder}/results_leg_counting_20260102_030405.json`,
      resultFileBytes(allTasksFile({ leg_counting: counts })),
    );
    for (const [name, text] of Object.entries(this.#data())) await this.#write(name, text);
  }

  /** Data of a reader's own, and files that the pages show without a name. */
  #data(): Record<string, string> {
    const entry = { question: "2 + 3 =", answer: "5", metadata: { source_dataset: "chain_sum" } };
    const rows = (...values: unknown[]) => values.map((row) => JSON.stringify(row) + "\n").join("");
    const shards = tensorsIn(`${this.folder}/model/model.safetensors`).map((name) => [name, SHARD]);
    const golden = (name: string) => Deno.readTextFileSync(goldenPath(`data/${name}`));
    const task = blockWith(read("docs/adding-a-task.md"), "defineTask({");
    const own = blockWith(read("docs/adding-a-task.md"), 'from "@rgx/rgx"');
    return {
      "answers.jsonl": rows({ entry, answer: "5" }, { entry, answer: "6" }),
      "entries.jsonl": rows(entry),
      "cases.jsonl": rows({ completion: "5", expected: 1 }),
      "names.json": "{}",
      "rgx.sif": "",
      "sharded-model/model.safetensors.index.json": JSON.stringify({
        weight_map: Object.fromEntries(shards),
      }),
      "gsm8k/test.jsonl": golden("gsm8k/test.jsonl"),
      "gsm8k/train.jsonl": golden("gsm8k/train.jsonl"),
      "math500/test.jsonl": golden("math500/test.jsonl"),
      "mmlu.jsonl": rows(
        { question: "2 + 3?", options: ["4", "5"], answer: "B", answer_index: 1, category: "math" },
      ),
      "digit_sum.ts": own + task.replaceAll(/^import .*\n/gm, ""),
      "other.yaml": read("README.md").match(/# my\.yaml\n([^]*?)```/)![1]!,
      "eval.yaml": blockWith(read("docs/benchmarks.md"), "categories:")
        .replace("experiments/mine/checkpoint-400", "model").replace("./base", "./smollm2")
        .replace(/^chat_template_kwargs.*\n/m, ""), // these models have no template
    };
  }

  async #write(name: string, text: string): Promise<void> {
    const path = `${this.folder}/${name}`;
    await Deno.mkdir(path.slice(0, path.lastIndexOf("/")), { recursive: true });
    await Deno.writeTextFile(path, text);
  }

  async #copy(from: string, name: string): Promise<void> {
    await Deno.mkdir(`${this.folder}/${name}`, { recursive: true });
    await this.run(`cp -a "${from}/." "${name}"`, "prepare");
  }

  get #env(): Record<string, string> {
    return {
      ...PLACE,
      ...SMALL,
      HOME: this.folder,
      RGX_TEST_HOST: HOST,
      DENO_DIR: DENO_DIR,
      PATH: `${this.folder}/bin:${Deno.env.get("PATH")}`,
    };
  }

  /** Runs a command to its end. @throws AssertionError when it does not end as expected */
  async run(shell: string, where: string, refusal: RegExp | null = null): Promise<void> {
    const { code, err: said, out } = await this.#runOne(shell);
    const what = `${where}: ${shell}\nended with ${code}\n${said.slice(-1500)}${out.slice(-300)}`;
    if (refusal !== null) return assert.ok(code !== 0 && refusal.test(said), what);
    assert.equal(code, 0, what);
    for (const path of outputsOf(shell)) {
      await assert.doesNotReject(Deno.stat(`${this.folder}/${path}`), `${where}: no ${path}`);
    }
  }

  async #runOne(shell: string): Promise<Result> {
    if (!PLAIN.test(shell)) {
      return (await runCommand(["sh", "-c", shell], { cwd: this.folder, env: this.#env }))!;
    }
    const [, ...args] = shell.split(" "), env = { ...Deno.env.toObject(), ...this.#env };
    return await askHost({ args, input: "", env, cwd: this.folder });
  }

  /** Starts a server, in place of the one that has this port. */
  async serve(shell: string, port: string, where: string): Promise<void> {
    await this.#stop(port, where);
    const child = new Deno.Command("sh", {
      args: ["-c", `exec ${shell}`],
      cwd: this.folder,
      env: this.#env,
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    const { url, end } = await served(child);
    const origin = /(?:http|ws):\/\/127\.0\.0\.1:\d+/.exec(url)?.[0];
    assert.ok(origin, `${where}: ${shell}\nprinted ${url}`);
    this.#servers.set(port, { origin, end: async () => (await end()).code });
  }

  async #stop(port: string, where: string): Promise<void> {
    const server = this.#servers.get(port);
    this.#servers.delete(port);
    if (server !== undefined) assert.equal(await server.end(), 0, `${where}: the server's end`);
  }

  async stopServers(where: string): Promise<void> {
    for (const port of [...this.#servers.keys()]) await this.#stop(port, where);
  }

  async follow(command: PageCommand): Promise<void> {
    const { shell, refusal, port } = planOf(command);
    const where = `${command.page}:${command.line}`;
    if (shell === null) return;
    if (port !== null) return await this.serve(shell, port, where);
    const address = /http:\/\/(?:127\.0\.0\.1|localhost):(\d+)/g;
    const asked = shell.replaceAll(address, (all, port) => this.#servers.get(port)?.origin ?? all);
    await this.run(asked.replace(/^curl /, "curl -sSf "), where, asked === shell ? refusal : null);
  }
}

const DENO_DIR = JSON.parse((await runs([Deno.execPath(), "info", "--json"])).out).denoDir;

const COMMANDS = PAGES.map((page) => [page, commandsOf(page, read(page))] as const);

Deno.test("the commands of README and docs run on the files that the pages show", async (t) => {
  await withFolder(async (folder) => {
    const reader = new Reader(folder), done = new Set<string>();
    await reader.prepare();
    const only = Deno.env.get("RGX_TEST_PAGE");
    for (const [page, commands] of COMMANDS) {
      if (commands.length === 0 || !new RegExp(only ?? "").test(page)) continue;
      await t.step(page, async () => {
        const faults: string[] = [];
        for (const command of commands) {
          const planned = planOf(command).shell ?? "";
          // A server may be asked again on another page; everything else is run once.
          if (done.has(planned) && planOf(command).port === null) continue;
          done.add(planned);
          await reader.follow(command).catch((error) => faults.push(error.message));
        }
        await reader.stopServers(page);
        assert.equal(faults.length, 0, faults.join("\n\n"));
      });
    }
  });
});

Deno.test("the tools that the pages start exist", () => {
  const commands = COMMANDS.flatMap(([, list]) => list);
  assert.ok(commands.length > 120, `${commands.length} commands were found`);
  for (const { page, line, text } of commands) {
    const task = /deno(?:@\S+)? task ([\w:]+)/.exec(text)?.[1];
    if (task !== undefined) assert.ok(task in config.tasks, `${page}:${line}: ${task}`);
    const file = /deno (?:test|run) .*?([\w/]+\/\w+\.ts)/.exec(text)?.[1];
    if (file !== undefined) assert.ok(Deno.statSync(new URL(file, root)).isFile, `${page}:${line}`);
  }
});

Deno.test("no command of a page is taken for the rest of another one", () => {
  for (const [page, commands] of COMMANDS) {
    const found = new Set(commands.map(({ line }) => line));
    for (const [i, line] of read(page).split("\n").entries()) {
      assert.ok(!line.startsWith("    rgx ") || found.has(i + 1), `${page}:${i + 1}: ${line}`);
    }
  }
});
