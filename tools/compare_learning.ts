/**
 * `deno task compare:learning`: whole runs of rgx and of TRL's GRPOTrainer with the same recipe.
 *
 *     deno task compare:learning --trl PYTHON [--steps 100] [--seeds 1,2,3,4,5] [--threads 2]
 *       [CONFIG [KEY=VALUE…]]
 *
 * CONFIG is a recipe with supervised steps (the quickstart, if there is none); its only reward is
 * taken as binary `correctness`. Its supervised steps are made once. Their result is exported in
 * float32, and every run begins at that model; a recipe with `lora` trains a new adapter on it. For
 * each seed, rgx trains first; TRL then gets the same prompts in the same order, the same reward
 * and the same values of all keys that both have. Only the random numbers of sampling and of a new
 * adapter differ, because the programs draw them in different ways.
 *
 * Prints a table of the mean rewards of each fifth of the steps: the mean over the seeds, and the
 * lowest and the highest of them. The exit code is 1 if the two ranges of the last fifth are apart;
 * one seed has no range, and is not judged.
 */
import { parseArgs } from "node:util";
import { parquetReadObjects } from "hyparquet";
import { parse } from "yaml";
import { counted } from "../core/counted.ts";
import { maxOf, mean, minOf } from "../core/statistics.ts";
import { readMetrics, rgx } from "../tests/support.ts";
import { lines } from "./peers/jobs.ts";

const ROOT = new URL("../", import.meta.url);

/** The keys of `training` that mean the same in TRL's GRPOConfig. */
const SHARED_KEYS = [
  "learning_rate",
  "lr_scheduler_type",
  "warmup_steps",
  "weight_decay",
  "max_grad_norm",
  "adam_beta1",
  "adam_beta2",
  "adam_epsilon",
  "max_steps",
  "per_device_train_batch_size",
  "gradient_accumulation_steps",
  "gradient_checkpointing",
  "num_generations",
  "max_completion_length",
  "temperature",
  "top_p",
  "top_k",
  "num_iterations",
  "loss_type",
  "importance_sampling_level",
  "beta",
  "use_bias_correction_kl",
  "epsilon",
  "scale_rewards",
];

/** Every run's reward; the program for TRL computes the same one. */
const REWARDS = "rewards=[{name: correctness, binary: true}]";

/** One run: the mean reward of each step, and the time of the run. */
interface Run {
  rewards: number[];
  /** Seconds of the steps, by the clock. */
  seconds: number;
}

interface CompletionRow {
  step: bigint;
  prompt: string;
  expected: string;
  completion: string;
  correctness: number;
}

async function succeeds(args: string[]): Promise<void> {
  const { code, err } = await rgx(args);
  if (code !== 0) throw new Error(err);
}

/** @param recipe a configuration and overrides */
function trained(folder: string, recipe: string[]): Promise<void> {
  return succeeds(["train", ...recipe, `training.output_dir=${folder}`]);
}

/** Makes the supervised steps of a recipe, and returns the folder of their model, in float32. */
async function startingModel(folder: string, recipe: string[]): Promise<string> {
  const model = `${folder}/model`;
  await trained(`${folder}/run`, [...recipe, "training.max_steps=1", "eval.num_examples=1"]);
  const merged = ["--to", "hf", "--dtype", "f32", "--output", model];
  await succeeds(["export", `${folder}/run/warm-start/latest`, ...merged]);
  return model;
}

/** The completions of a run, in the order of the steps. */
async function completionsOf(folder: string): Promise<CompletionRow[]> {
  const names = [...Deno.readDirSync(`${folder}/completions`)].map(({ name }) => name).sort();
  const rows = [];
  for (const name of names) {
    const file = await Deno.readFile(`${folder}/completions/${name}`);
    rows.push(...await parquetReadObjects({ file: file.buffer as ArrayBuffer }));
  }
  return rows as unknown as CompletionRow[];
}

async function rgxRun(folder: string, recipe: string[]): Promise<Run> {
  await trained(folder, recipe);
  const steps = (await readMetrics(folder))
    .filter((line) => line["split"] === "train" && line["reward"] !== undefined);
  return {
    rewards: steps.map((line) => line["reward"] as number),
    seconds: steps.reduce((sum, line) => sum + (line["step_time"] as number), 0),
  };
}

async function trlRun(python: string, job: object): Promise<Run & { version: string }> {
  const path = await Deno.makeTempFile();
  try {
    await Deno.writeTextFile(path, JSON.stringify(job));
    const child = new Deno.Command(python, {
      args: ["tools/peers/trl_learning.py", path],
      cwd: ROOT,
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    const errors = new Response(child.stderr).text();
    const said = [];
    for await (const line of lines(child.stdout)) said.push(JSON.parse(line));
    const { success } = await child.status;
    if (!success) throw new Error((await errors).split("\n").slice(-12).join("\n"));
    const { seconds, version } = said.pop();
    return { rewards: said.map(({ reward }) => reward), seconds, version };
  } finally {
    await Deno.remove(path);
  }
}

/** The mean rewards of each fifth of the steps. */
function fifths(rewards: readonly number[]): number[] {
  const size = rewards.length / 5;
  return Array.from(
    { length: 5 },
    (_, i) => mean(rewards.slice(Math.round(i * size), Math.round((i + 1) * size))),
  );
}

function row(name: string, runs: readonly Run[]): string {
  const all = runs.map(({ rewards }) => fifths(rewards));
  const cells = Array.from({ length: 5 }, (_, i) => {
    const values = all.map((run) => run[i]!), three = (x: number) => x.toFixed(3).slice(1);
    return `${three(mean(values))} (${three(minOf(values))}–${three(maxOf(values))})`;
  });
  return `| ${[name, ...cells, mean(runs.map(({ seconds }) => seconds)).toFixed(0)].join(" | ")} |`;
}

if (import.meta.main) {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      trl: { type: "string" },
      steps: { type: "string", default: "100" },
      seeds: { type: "string", default: "1,2,3,4,5" },
      threads: { type: "string", default: "2" },
    },
  });
  if (values.trl === undefined) {
    console.error("name a Python that has trl with --trl");
    Deno.exit(2);
  }
  const seeds = values.seeds.split(",").map(Number), threads = Number(values.threads);
  const recipe = [...(positionals.length === 0 ? ["quickstart"] : positionals), REWARDS];
  const folder = await Deno.makeTempDir();
  const ours: Run[] = [], theirs: Run[] = [];
  let version = "";
  try {
    const model = await startingModel(`${folder}/start`, recipe);
    for (const seed of seeds) {
      const at = `${folder}/${seed}`;
      ours.push(
        await rgxRun(at, [
          ...recipe,
          "model.init=null",
          `model.model_name_or_path=${model}`,
          "sft=null",
          `training.seed=${seed}`,
          `training.max_steps=${values.steps}`,
          "training.logging_steps=1",
          "eval.num_examples=1",
          `--threads=${threads}`,
        ]),
      );
      const completions = await completionsOf(at);
      const { training, lora } = parse(await Deno.readTextFile(`${at}/config.yaml`)) as {
        training: Record<string, unknown>;
        lora: object | null;
      };
      const group = Number(training.num_generations);
      const run = await trlRun(values.trl, {
        model,
        seed,
        threads,
        prompts: completions.filter((_, i) => i % group === 0)
          .map(({ prompt, expected }) => ({ prompt, expected })),
        checked: completions.slice(0, 4096)
          .map(({ completion, expected, correctness }) => ({ completion, expected, correctness })),
        lora,
        arguments: Object.fromEntries(SHARED_KEYS.map((key) => [key, training[key]])),
      });
      theirs.push(run);
      version = run.version;
      console.error(`seed ${seed}: rgx ${ours.at(-1)!.rewards.at(-1)}, TRL ${run.rewards.at(-1)}`);
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
  console.log(
    `${counted(seeds.length, "seed")}, ${values.steps} steps, ${threads} threads; ${version}\n`,
  );
  const heads = Array.from({ length: 5 }, (_, i) => `${20 * i}–${20 * (i + 1)} %`);
  console.log(`| reward in | ${heads.join(" | ")} | seconds |`);
  console.log(`| --- |${" ---: |".repeat(6)}`);
  console.log(row("rgx", ours));
  console.log(row("TRL", theirs));
  if (seeds.length === 1) Deno.exit(0);
  const last = [ours, theirs].map((runs) => runs.map(({ rewards }) => fifths(rewards)[4]!));
  const [a, b] = last as [number[], number[]];
  const apart = maxOf(a) < minOf(b) || maxOf(b) < minOf(a);
  console.log(`\nThe ranges of the last fifth are ${apart ? "apart" : "not apart"}.`);
  Deno.exit(apart ? 1 : 0);
}
