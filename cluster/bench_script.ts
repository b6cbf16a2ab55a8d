/**
 * The script of a benchmark: an array that deals (model, task) combinations over graphics cards one by one, with
 * a job behind it that joins the results, or one job with all cards of a node. What is measured stands in
 * variables at its top, to be edited.
 */
import { resolve } from "node:path";
import { UsageError } from "../core/errors.ts";
import { gres, headerLines, type Job } from "./header.ts";
import {
  checkJobName,
  type CommonOptions,
  type JobScript,
  needsCard,
  NO_REQUEUE,
  prepare,
} from "./job_script.ts";
import { megabytes, parseTimeLimit } from "./limits.ts";
import { requireScriptPath, shellWord, shellWords } from "./quote.ts";
import { expandParts, fillTemplate } from "./template.ts";
import arrayRoles from "./templates/bench_array.sh" with { type: "text" };
import template from "./templates/bench.sh" with { type: "text" };
import nodeRoles from "./templates/bench_node.sh" with { type: "text" };

/**
 * `gpus` is the number of cards altogether; default 8. On a device that is none of them it is the number of
 * elements, or of processes.
 */
export interface BenchScriptOptions extends CommonOptions {
  models: readonly string[];
  tasks: readonly string[];
  numExamples?: number;
  /** null: as the checkpoints were trained. */
  maxNewTokens?: number | null;
  outputDir?: string;
  /** One job with all cards instead of an array. */
  oneNode?: boolean;
  /** Elements of the array that run at once. */
  atOnce?: number;
  /** Further flags of `rgx bench`, such as `--temperature 0.7`. */
  further?: readonly string[];
  /** Of every card's process; default: the card itself. */
  device?: string;
  /** Where the script will be: it submits itself. */
  script: string;
  template?: { name: string; text: string };
}

/** The template that `rgx slurm bench` fills in. */
export const BENCH_TEMPLATE = expandParts(template);

/** What the joining job asks for: it reads answers and draws charts, with no more than an element has. */
function joinOptions({ gpus, cpus, memory, time }: Job): string {
  const hour = parseTimeLimit("01:00:00");
  return [
    ...(gpus === 0 ? [] : ["--gres=none"]),
    `--cpus-per-task=${Math.min(2, cpus)}`,
    `--mem=${memory !== "0" && megabytes(memory) > megabytes("8G") ? "8G" : memory}`,
    `--time=${time.seconds > hour.seconds ? hour.text : time.text}`,
  ].join(" ");
}

/** Bytes of answers. */
const PROGRESS = `progress() { cat "$OUTPUT_DIR"/samples_*.jsonl 2>/dev/null | wc -c; }`;

const HOW = {
  array:
    "which starts an array of NUM_GPUS jobs, and one that joins their results and draws the charts.",
  node: "which starts one job with NUM_GPUS graphics cards of one node.",
};

/**
 * A script that deals a benchmark over the cards of a cluster; a text, nothing is written.
 * @throws UsageError for names, times and numbers that SLURM would not take
 */
export async function benchScript(
  account: string,
  options: BenchScriptOptions,
): Promise<JobScript> {
  const { models, tasks, oneNode = false } = options;
  if (models.length === 0) throw new UsageError("no model is named", { advice: "--models NAME …" });
  if (tasks.length === 0) throw new UsageError("no task is named", { advice: "--tasks NAME …" });
  const gpus = options.gpus ?? 8;
  const jobName = checkJobName(options.jobName, "bench");
  const cards = needsCard(options.device) ? oneNode ? gpus : 1 : 0;
  const prepared = await prepare(account, { ...options, gpus: cards }, jobName);
  const { job, logs, notes, values, workDir } = prepared;
  if (gpus < 1) throw new UsageError(`--gpus ${gpus}: expected at least 1`);
  if (job.nodes > 1) {
    throw new UsageError(`--nodes ${job.nodes}: a job of a benchmark takes one node`, {
      advice: "An array (without --one-node) spreads over nodes by itself.",
    });
  }
  const script = resolve(options.script);
  requireScriptPath(script, "--output");
  const array = oneNode ? null : `0-${gpus - 1}${limit(options.atOnce)}`;
  const header = headerLines(job, { jobName, log: logs, array });
  const names = await Promise.all(models.map((model) => placeOf(model, workDir)));
  for (const { name, exists } of names) {
    if (exists || !looksLikePath(name)) continue;
    notes.push(`the model ${name} is not there yet (--dependency starts after its training)`);
  }
  const text = options.template?.text ?? template;
  const filled = fillTemplate(
    expandParts(
      text.replace(/\{\{ *roles *\}\}/, () => (oneNode ? nodeRoles : arrayRoles).trimEnd()),
      job.requeue ? [] : ["requeue"],
    ),
    {
      ...values,
      requeue: NO_REQUEUE,
      progress: job.requeue ? PROGRESS : "",
      sbatch: header.join("\n"),
      how: oneNode ? HOW.node : HOW.array,
      models: names.map(({ name }) => `  ${shellWord(name)}`).join("\n"),
      tasks: shellWords(await Promise.all(tasks.map((task) => taskName(task, workDir)))),
      num_examples: String(options.numExamples ?? 100),
      max_new_tokens: options.maxNewTokens == null ? "" : String(options.maxNewTokens),
      num_gpus: String(gpus),
      gpus: String(gpus),
      elements: `0-${gpus - 1}`,
      output_dir: shellWord(options.outputDir ?? "benchmark_results"),
      script: shellWord(script),
      further: [
        ...(options.device === undefined ? [] : ["--device", options.device]),
        ...options.further ?? [],
      ].map((word) => ` ${shellWord(word)}`).join(""),
      workers: options.device === undefined
        ? '--devices "$(seq -s, 0 $((NUM_GPUS - 1)))"'
        : '--workers "$NUM_GPUS"',
      limit: limit(options.atOnce),
      join_options: joinOptions(job),
      gres: cards === 0 ? "" : `--gres=${gres({ ...job, gpus: 0 }).replace(/0$/, "")}"$NUM_GPUS" `,
    },
    options.template?.name ?? "the built-in template",
    ["sbatch", "models", "tasks"],
  );
  return { text: filled, jobName, logs, notes };
}

const limit = (atOnce?: number) => atOnce === undefined ? "" : `%${atOnce}`;

/** A path that begins in the current folder becomes absolute where the job begins elsewhere. */
async function placeOf(name: string, workDir: string): Promise<{ name: string; exists: boolean }> {
  const isThere = (path: string) => Deno.stat(path).then(() => true, () => false);
  const here = resolve(name), there = resolve(workDir, name);
  if (await isThere(there)) return { name, exists: true };
  return await isThere(here) ? { name: here, exists: true } : { name, exists: false };
}

/** Names on the Hub have one slash at most. */
function looksLikePath(name: string): boolean {
  return !name.startsWith("openai:") && (/^[./~]|\.gguf$/.test(name) || name.split("/").length > 2);
}

/** The path of a data set, `gsm8k=test.jsonl` or `problems.jsonl`, in the same way. @throws UsageError */
async function taskName(task: string, workDir: string): Promise<string> {
  const [, before = "", path] = /^([a-z0-9_]+=)?(.+)$/.exec(task) ?? [];
  if (path === undefined || (before === "" && !/\.jsonl?$/.test(path))) return task;
  const { name, exists } = await placeOf(path, workDir);
  if (!exists) throw new UsageError(`--tasks ${task}: there is no file ${path}`);
  return before + name;
}
