/**
 * `rgx doctor --self`: the program tries its own parts on a tiny model, as a new user would, in an
 * empty home folder and without a network (a proxy that is not there stands in its place).
 * `deno task compile` ends with it, because an executable that lacks a package or a file starts,
 * and fails where it needs them.
 */
import { Buffer } from "node:buffer";
import { EXIT, messageOf, RgxError } from "../../core/errors.ts";
import { programCommand } from "../../core/program_command.ts";
import { paragraph, print, table } from "../terminal/terminal.ts";

export interface TriedPart {
  name: string;
  seconds: number;
  /** Why the part does not work; null: it works. */
  error: string | null;
}

/** A command that takes longer is taken for one that hangs. */
const LIMIT_MS = 300_000;

/** Variables of the environment that a program may need to start. */
const KEPT = ["PATH", "LD_LIBRARY_PATH", "SystemRoot", "RGX_TARGET", "RGX_NATIVE"];

/** A proxy that does not exist, except for this machine's own addresses. */
const NO_NETWORK = Object.fromEntries([
  ...["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"].map((name) => [name, "http://127.0.0.1:9"]),
  ["NO_PROXY", "127.0.0.1,localhost"],
  ["HF_HUB_OFFLINE", "1"],
]);

const TASK_FILE = `import { defaultScore, defineTask } from "@rgx/rgx";
export default defineTask({
  name: "double",
  category: "arithmetic",
  description: "Double a number.",
  params: {},
  generate: (random) => {
    const number: number = random.int(1, 99);
    return { question: \`Twice \${number}?\`, answer: String(2 * number), metadata: {} };
  },
  score: defaultScore,
});
`;

/** Characters of answers of which `rgx score` gives a part to its threads. */
const SCORED_LENGTH = 3 << 20;

/** The parts in their order: most parts need files that an earlier part has written. */
const PARTS: Readonly<Record<string, (trial: Trial) => Promise<unknown>>> = {
  init: async (trial) => {
    await trial.rgx("init", ".");
    await trial.file("experiment.yaml");
  },
  "a reward in TypeScript": (trial) => trial.rgx("rewards", "test", "rewards/short_answer.ts"),
  train: async (trial) => {
    const keys = "sft.max_steps=2 max_steps=2 eval.num_examples=4 num_generations=4 " +
      "per_device_train_batch_size=16 training.report_to=all";
    await trial.rgx("train", "experiment.yaml", ...keys.split(" "));
    const metrics = await trial.file("runs/first/metrics.jsonl");
    const steps = metrics.trimEnd().split("\n").map((line) => JSON.parse(line))
      .filter(({ split }) => split === "train");
    const reward = steps.at(-1)?.["rewards/short_answer/mean"];
    expect(typeof reward === "number", `the reward's mean is a number, found ${reward}`);
  },
  bench: async (trial) => {
    const command = "bench --models runs/first --tasks spell_backward chain_sum " +
      "--num-examples 2 --plain --json";
    const { files } = JSON.parse(await trial.rgx(...command.split(" ")));
    trial.results = files.find((path: string) => /results_all_tasks_.*json$/.test(path));
    expect(trial.results !== undefined, `a file of all results, found ${files}`);
  },
  "plot to png": (trial) => trial.plots("png", "\x89PNG"),
  "plot to svg": (trial) => trial.plots("svg", "<svg"),
  "plot to pdf": (trial) => trial.plots("pdf", "%PDF"),
  curves: async (trial) => {
    await trial.rgx("curves", "runs/first", "--output", "curves.png");
    await trial.file("curves.png", "\x89PNG");
  },
  report: async (trial) => {
    await trial.rgx("report", "runs/first");
    await trial.file("runs/first/report.html", "<!doctype html>");
  },
  dashboard: (trial) =>
    trial.whileServing(["dashboard", "runs/first", "--port", "0"], async (url) => {
      const page = await fetched(url);
      const scripts = [...page.matchAll(/href="(app\/[^"]+)"/g)].map(([, path]) => path!);
      expect(scripts.length > 0, "scripts in the page");
      for (const path of ["app/style.css", ...scripts]) await fetched(new URL(path, url));
    }),
  export: async (trial) => {
    await trial.rgx("export", "runs/first", "--to", "hf", "--output", "model");
    await trial.file("model/model.safetensors");
  },
  serve: (trial) =>
    trial.whileServing(["serve", "model", "--port", "0"], async (url) => {
      const body = JSON.stringify({ prompt: "abc", max_tokens: 3, seed: 1 });
      const { choices } = JSON.parse(await fetched(`${url}/completions`, body));
      expect(typeof choices?.[0]?.text === "string", "a completion");
    }),
  slurm: async (trial) => {
    await trial.rgx("slurm", "experiment.yaml", "account", "--output", "train.sh");
    await trial.file("train.sh", "#!");
  },
  "tasks with words and puzzles": async (trial) => {
    for (const task of ["word_ladder", "rush_hour", "arc_agi", "figlet_font"]) {
      await trial.rgx("tasks", "sample", task, "--size", "1");
    }
  },
  "a task in TypeScript": async (trial) => {
    await Deno.writeTextFile(trial.path("double.ts"), TASK_FILE);
    const entry = (await trial.rgx("tasks", "sample", "./double.ts", "--size", "1")).trim();
    const line = JSON.stringify({ entry: JSON.parse(entry), answer: JSON.parse(entry).answer });
    await Deno.writeTextFile(trial.path("own.jsonl"), line);
    const scored = await trial.rgx("score", "own.jsonl", "--task", "./double.ts");
    expect(scored === '{"score":1}\n', `a score of 1, found ${scored}`);
  },
  "score in threads": async (trial) => {
    const entry = JSON.parse(await trial.rgx("tasks", "sample", "chain_sum", "--size", "1"));
    const line = JSON.stringify({ entry, answer: entry.answer }) + "\n";
    const count = Math.ceil(SCORED_LENGTH / line.length);
    await Deno.writeTextFile(trial.path("answers.jsonl"), line.repeat(count));
    const scored = await trial.rgx("score", "answers.jsonl", "--threads", "2");
    const found = scored.split('{"score":1}\n').length - 1;
    expect(found === count, `${count} scores of 1, found ${found}`);
  },
};

/** Tries all parts. @param program the words that start the program */
export async function tryParts(program = programCommand()): Promise<TriedPart[]> {
  const home = await Deno.makeTempDir({ prefix: "rgx-self-" });
  try {
    const trial = new Trial(program, home), tried: TriedPart[] = [];
    for (const [name, run] of Object.entries(PARTS)) {
      const start = performance.now();
      const error = await run(trial).then(() => null, messageOf);
      tried.push({ name, seconds: (performance.now() - start) / 1000, error });
    }
    return tried;
  } finally {
    await Deno.remove(home, { recursive: true });
  }
}

/** Returns the exit code: 1 when a part does not work. */
export async function doctorSelf(options: { json?: boolean }): Promise<number> {
  const parts = await tryParts();
  const failed = parts.filter(({ error }) => error !== null);
  if (options.json) print(JSON.stringify({ ok: failed.length === 0, parts }));
  else {
    print(table(
      parts.map(({ name, seconds, error }) => [
        name,
        `${seconds.toFixed(1)} s`,
        error === null ? "works" : "FAILS",
      ]),
    ));
    print("");
    for (const { name, error } of failed) print(paragraph(`${name}: ${error}`));
    if (failed.length === 0) print("Every part works, without a network.");
  }
  return failed.length === 0 ? EXIT.ok : EXIT.failure;
}

function expect(isTrue: boolean, what: string): void {
  if (!isTrue) throw new RgxError(`expected ${what}`);
}

/** Fetches the text at an address, by POST if there is a body. */
async function fetched(url: string | URL, body?: string): Promise<string> {
  const response = await fetch(url, body === undefined ? {} : { method: "POST", body });
  const text = await response.text();
  expect(response.ok, `an answer from ${new URL(url).pathname}, found ${response.status}: ${text}`);
  return text;
}

/** Runs commands of the program in a folder, which is also its home folder. */
class Trial {
  results: string | undefined;

  constructor(readonly program: readonly string[], readonly home: string) {}

  path(name: string): string {
    return `${this.home}/${name}`;
  }

  #command(args: readonly string[]): Deno.Command {
    const [program, ...words] = this.program;
    const kept = KEPT.flatMap((name) => {
      const value = Deno.env.get(name);
      return value === undefined ? [] : [[name, value]];
    });
    // From a checkout the program is Deno, which keeps the packages in its own folder.
    const packages = Deno.build.standalone ? {} : { DENO_DIR: denoFolder() };
    return new Deno.Command(program!, {
      args: [...words, ...args],
      cwd: this.home,
      clearEnv: true,
      env: {
        ...Object.fromEntries(kept),
        ...NO_NETWORK,
        ...packages,
        HOME: this.home,
        TRACKIO_DIR: this.path("trackio"),
        NO_COLOR: "1",
      },
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
      signal: AbortSignal.timeout(LIMIT_MS),
    });
  }

  /** What a command prints. @throws RgxError when it fails */
  async rgx(...args: string[]): Promise<string> {
    const { success, code, signal, stdout, stderr } = await this.#command(args).output();
    if (!success) {
      throw new RgxError(`rgx ${args.join(" ")}: ${endOf(code, signal, stderr)}`);
    }
    return new TextDecoder().decode(stdout);
  }

  /** Starts a server, whose first line is its address, and ends it as a cluster does. */
  async whileServing(args: string[], work: (url: string) => Promise<void>): Promise<void> {
    const child = this.#command(args).spawn();
    const errors = new Response(child.stderr).bytes();
    const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
    try {
      const { value } = await reader.read();
      if (value !== undefined) await work(value.trim());
    } finally {
      try {
        child.kill("SIGTERM");
      } catch { /* it has ended */ }
      await reader.cancel();
    }
    const { success, code, signal } = await child.status;
    if (!success) throw new RgxError(`rgx ${args.join(" ")}: ${endOf(code, signal, await errors)}`);
    await errors;
  }

  /** Draws the results of the benchmark. @param begins how a file of the type must begin */
  async plots(type: string, begins: string): Promise<void> {
    await this.rgx("plot", this.results ?? "", "--output", `chart.${type}`);
    await this.file(`chart.${type}`, begins);
  }

  /** The bytes of a file as text, one character each. @param begins how it must begin */
  async file(name: string, begins = ""): Promise<string> {
    const text = Buffer.from(await Deno.readFile(this.path(name))).toString("latin1");
    const isRight = text.length > 0 && text.startsWith(begins);
    expect(isRight, `${name} to begin with ${JSON.stringify(begins)}`);
    return text;
  }
}

/** How a command ended: the last lines that it printed, or its code. */
function endOf(code: number, signal: string | null, stderr: Uint8Array): string {
  const said = new TextDecoder().decode(stderr).trim().split("\n").slice(-4).join("\n");
  return said === "" ? `ended with ${signal ?? code}, and said nothing` : said;
}

function denoFolder(): string {
  const { stdout } = new Deno.Command(Deno.execPath(), { args: ["info", "--json"] }).outputSync();
  return JSON.parse(new TextDecoder().decode(stdout)).denoDir;
}
