/**
 * `rgx init`: writes a project. Its model is tiny and made from a seed, with sizes and an alphabet
 * that fit the problems, so that it trains at once.
 */
import { basename, relative, resolve } from "node:path";
import { shellWord } from "../../cluster/quote.ts";
import { slurmScript } from "../../cluster/train_script.ts";
import { ASCII } from "../../configs/schema/model_keys.ts";
import { makeFolder, writeFileAtomic } from "../../core/atomic_file.ts";
import { UsageError } from "../../core/errors.ts";
import type { ParamValue } from "../../core/named_params.ts";
import { exists, isFolder } from "../../core/paths.ts";
import { isCodePath } from "../../core/sandbox/code_file.ts";
import { mean } from "../../core/statistics.ts";
import { isHeldOut } from "../../data/file_source.ts";
import { filesWithoutTest, readEntries } from "../../data/open_problems.ts";
import { CORRECT, scoreCompletion } from "../../data/score_completion.ts";
import { workedAnswer } from "../../data/worked_answer.ts";
import { curriculumConfig } from "../../tasks/curriculum/levels.ts";
import { taskNameOf } from "../../tasks/custom/task_file.ts";
import { createDataset } from "../../tasks/dataset.ts";
import { getTask } from "../../tasks/registry.ts";
import type { Entry } from "../../tasks/types.ts";
import { planJob } from "../cluster/job_needs.ts";
import type { FlagsOf } from "../flags.ts";
import { log, print } from "../terminal/terminal.ts";
import chatTemplate from "./project/chat_template.jinja" with { type: "text" };
import template from "./project/experiment.yaml.txt" with { type: "text" };
import readme from "./project/readme.md" with { type: "text" };
import sameWords from "./project/same_words.ts" with { type: "text" };
import sameWordsCases from "./project/same_words_cases.jsonl" with { type: "text" };
import rewardInPython from "./project/short_answer.py.txt" with { type: "text" };
import reward from "./project/short_answer.ts" with { type: "text" };
import cases from "./project/short_answer_cases.jsonl" with { type: "text" };

type InitOptions = FlagsOf<"INIT">;

/** The problems of a project that names none: short words, which a tiny model learns to turn. */
const TASK = "spell_backward";

/** The account in the job script, which the user replaces. */
const ACCOUNT = "my_account";

export async function init(given: string, options: InitOptions): Promise<void> {
  const { task, data, reward: asked } = options, inPython = /\.py$/.test(asked);
  const name = asked.replace(/\.py$/, ""), file = `${name}.${inPython ? "py" : "ts"}`;
  if (task !== undefined && data !== undefined) {
    throw new UsageError("--task and --data: a project has the problems of one of them");
  }
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
    throw new UsageError(
      `--reward ${asked}: expected a name of letters, digits and _, or one ending in .py`,
    );
  }
  const folder = resolve(given);
  // Everything is read before anything is written.
  const problems = await problemsOf(task ?? TASK, data, folder);
  const written = (text: string) =>
    (inPython
      ? text.replace(/^( {4}rgx (?:rewards test|train|slurm) \S+)/gm, "$1 --allow-python")
      : text)
      .replaceAll("short_answer.ts", file).replaceAll("short_answer", name);
  const files: Record<string, string> = {
    "experiment.yaml": experiment(problems, file),
    ...(problems.sizes.isChat && { "chat_template.jinja": chatTemplate }),
    [`rewards/${file}`]: inPython
      ? rewardInPython.replaceAll("short_answer", name)
      : written(reward),
    [`rewards/${name}_cases.jsonl`]: cases,
    ...(!problems.sizes.isFound && {
      "rewards/same_words.ts": sameWords,
      "rewards/same_words_cases.jsonl": sameWordsCases,
    }),
    "README.md": written(readme).replace("{{name}}", basename(folder))
      .replace("{{problems}}", `the problems of \`${problems.task ?? problems.data}\``),
  };
  if (await exists(folder) && !await isFolder(folder)) {
    throw new UsageError(`${given}: it is a file, expected a folder`, {
      advice: "Name an empty folder, or one that does not exist yet.",
    });
  }
  for (const path of [...Object.keys(files), "job.sh"]) {
    const found = await Deno.lstat(`${folder}/${path}`).catch(() => null);
    if (found === null) continue;
    throw new UsageError(`${given}: ${path} is there already`, {
      advice: "Name an empty folder, or one that does not exist yet.",
    });
  }
  const wasThere = await exists(folder);
  await makeFolder(`${folder}/rewards`);
  for (const [path, text] of Object.entries(files)) {
    await writeFileAtomic(`${folder}/${path}`, text);
  }
  const script = await slurmScript("experiment.yaml", ACCOUNT, {
    allowPython: inPython,
    workDir: folder,
    gpus: 0,
    plan: (runs, ranks, notes) =>
      planJob(runs, { device: "wasm", workDir: folder, mayComeLater: true, ranks }, notes),
  }).catch(async (error) => {
    // The plan finds problems that cannot be trained on, before half of a project is written.
    const written = wasThere ? [...Object.keys(files), "rewards"] : ["."];
    for (const path of written) {
      await Deno.remove(`${folder}/${path}`, { recursive: !wasThere }).catch(() => {});
    }
    throw error;
  });
  await Deno.mkdir(script.logs, { recursive: true });
  await writeFileAtomic(`${folder}/job.sh`, script.text);
  const paths = [...Object.keys(files), "job.sh"];
  if (options.json) return print(JSON.stringify({ folder, files: paths }));
  print(paths.map((path) => given === "." ? path : `${given}/${path}`).join("\n"));
  log(
    `train it with: ${given === "." ? "" : `cd ${shellWord(given)} && `}rgx train experiment.yaml` +
      (inPython ? " --allow-python" : ""),
  );
}

/** The problems of the project. Paths are relative to the folder of the project. */
async function problemsOf(
  task: string,
  data: string | undefined,
  folder: string,
): Promise<ProjectProblems> {
  if (data !== undefined) {
    const sizes = await measureData(data);
    return { data: relative(folder, resolve(data)), params: {}, sizes };
  }
  const measured = measureTask(await taskNameOf(task));
  return { task: isCodePath(task) ? relative(folder, resolve(task)) : task, ...measured };
}

/** Extra tokens for the end of a completion, and for problems longer than those that were read. */
const END = 6, MARGIN = 1.25;
const DEFAULT_COMPLETION = 64;
/** Max number of prompts of a step, and completions of each. */
const MAX_PROMPTS = 32, COMPLETIONS = 8;
/** Steps of a small run; fewer if even the smallest steps take long. */
const SUPERVISED_STEPS = 220, STEPS = 150, HELD_OUT = 200;
/** The most tokens in passes that a run may compute, about 20 μs each on two cores. */
const WORK = 5e6;
/** With a context of this many tokens, attention takes half of a pass's time. */
const ATTENTION_TOKENS = 1000;

interface ProjectProblems {
  /** The task or its file, or the path of the data. */
  task?: string;
  data?: string;
  params: Readonly<Record<string, ParamValue>>;
  sizes: ProblemSizes;
}

/** @param reward the name of the reward's file */
export function experiment(
  { task, data, params, sizes }: ProjectProblems,
  reward: string,
): string {
  const { count, prompt, answer, words, others, hasHeldOut, isChat, isFound } = sizes;
  const completion = Math.ceil((answer?.longest ?? DEFAULT_COMPLETION) * MARGIN) + END;
  const positions = 2 ** Math.ceil(Math.log2(prompt.longest * MARGIN + completion));
  const { prompts, share } = fittingWork(sizes);
  const rounded = (steps: number) => Math.max(10, Math.round(steps * share / 10) * 10);
  const steps = rounded(STEPS), heldOut = rounded(HELD_OUT);
  const problems = task === undefined
    ? `  dataset_name: ${JSON.stringify(data)}`
    : `  task_name: ${
      /^\w+$/.test(task) ? task : JSON.stringify(task)
    } # rgx tasks show ${task}\n` +
      `  task_config: ${JSON.stringify(params)}\n  num_examples: 8192`;
  const first = isFound
    ? "{ name: correctness, weight: 1.0 }"
    : "{ path: rewards/same_words.ts, weight: 1.0 }";
  const own = `path: rewards/${reward}, weight: 0.2` + (words > 8 ? `, words: ${words}` : "");
  const supervised = rounded(SUPERVISED_STEPS);
  const text = answer === null
    ? template.replace(/^# Supervised steps.*?\n\n/ms, NO_SUPERVISED)
    : template;
  return filled(text, {
    positions,
    alphabet: JSON.stringify(ASCII + others),
    chat_template: isChat
      ? "  chat_template: chat_template.jinja # a pretrained model has its own\n"
      : "",
    problems,
    first,
    own,
    sft_steps: supervised,
    sft_batch: Math.min(count, 2 * prompts),
    sft_warmup: Math.min(20, supervised / 5),
    held_out: hasHeldOut ? heldOut : "0 # too few problems to hold some out",
    batch: COMPLETIONS * prompts,
    prompts,
    completions: COMPLETIONS,
    length: completion,
    steps,
  });
}

/** A text with its placeholders `{{name}}` replaced. */
function filled(text: string, values: Readonly<Record<string, unknown>>): string {
  return text.replace(/\{\{(\w+)\}\}/g, (_, name) => String(values[name]));
}

/**
 * The prompts of a step with which a run takes a few minutes, and the share of the steps that fits
 * where even the fewest prompts are too many.
 */
function fittingWork({ count, prompt, answer }: ProblemSizes): { prompts: number; share: number } {
  const completion = answer?.mean ?? DEFAULT_COMPLETION;
  const supervised = answer === null ? 0 : SUPERVISED_STEPS * 2 * (prompt.mean + completion);
  // Completions are sampled, trained, and looked at by the reference; prompts are not sampled.
  const grpo = STEPS * (1.5 * prompt.mean + 2.5 * COMPLETIONS * completion);
  const perPrompt = (supervised + grpo) * (1 + (prompt.mean + completion) / ATTENTION_TOKENS);
  // A step takes different problems, twice as many with supervision.
  const most = Math.max(1, Math.min(MAX_PROMPTS, count / 2, WORK / perPrompt));
  return { prompts: 2 ** Math.floor(Math.log2(most)), share: Math.min(1, WORK / perPrompt) };
}

const NO_SUPERVISED =
  "# Some problems have no answer to copy, so there are no supervised steps before GRPO.\n\n";

/** A length in characters: the model of a new project has one token for each. */
interface Length {
  mean: number;
  longest: number;
}

interface ProblemSizes {
  /** Number of different problems to train on; infinite where they are generated. */
  count: number;
  prompt: Length;
  /** The lengths of worked answers; null if some problems have none, so nothing can be copied. */
  answer: Length | null;
  /** Words of the longest worked answer. */
  words: number;
  /** Characters that are not printable ASCII. */
  others: string;
  /** Whether some problems are held out, and others remain for training. */
  hasHeldOut: boolean;
  /** Whether prompts are conversations, which a chat template writes. */
  isChat: boolean;
  /** Whether the worked answers have the tags in which the reward `correctness` finds answers. */
  isFound: boolean;
}

const LOOKED_AT = 300;
/** If a problem with its answer has more characters, the task begins at its lowest level. */
const LONG = 1024;
/** A problem with its answer that has more characters is too long for a project's tiny model. */
const TOO_LONG = 8192;

/** Parameters of tasks whose own are too large for a tiny model, or name no problems yet. */
const SMALL: Readonly<Record<string, Record<string, ParamValue>>> = {
  composite: {
    datasets: [
      { name: "chain_sum", weight: 1, config: { max_terms: 3 } },
      { name: "spell_backward", weight: 1, config: { max_word_len: 7 } },
    ],
  },
  needle_haystack: { max_num_statements: 20 },
  rectangle_count: { width: 20, height: 20, max_rectangles: 4 },
  spell_backward: { min_word_len: 3, max_word_len: 7 },
};

/**
 * The parameters with which a tiny model reads the problems of a task, and the sizes of these.
 * @throws UsageError for a task whose problems are all too long
 */
export function measureTask(
  name: string,
): { params: Record<string, ParamValue>; sizes: ProblemSizes } {
  const of = (params: Record<string, ParamValue>) => {
    const problems = createDataset(name, { ...params, size: LOOKED_AT, seed: 42 });
    const entries = Array.from({ length: LOOKED_AT }, (_, i) => problems.entry(i));
    return { params, sizes: measure(entries, Infinity, true) };
  };
  const task = getTask(name), own = of(SMALL[name] ?? {});
  if (longest(own.sizes) <= LONG || task.curriculum === undefined) return checked(own);
  const changed = Object.entries(curriculumConfig(task, {})).filter(([key, value]) =>
    JSON.stringify(value) !== JSON.stringify(task.params[key]!.default)
  );
  const easy = of({ ...Object.fromEntries(changed), ...own.params });
  return checked(longest(easy.sizes) < longest(own.sizes) ? easy : own);

  function checked(found: typeof own): typeof own {
    refuseLong(`task ${name}`, found.sizes, `data.task_name=${name}`);
    return found;
  }
}

/** @throws UsageError for files that cannot be read, and for problems that are too long */
async function measureData(path: string): Promise<ProblemSizes> {
  const entries = await readEntries(path);
  const different = new Set(entries.map(({ question }) => question));
  const heldOut = [...different].filter(isHeldOut).length;
  const hasTest = await filesWithoutTest({ dataset_name: path, task_name: null }) === null;
  const isSplit = !hasTest && heldOut > 0 && heldOut < different.size;
  const count = different.size - (isSplit ? heldOut : 0);
  const sizes = measure(entries.slice(0, LOOKED_AT), count, hasTest || isSplit);
  refuseLong(path, sizes, `data.dataset_name=${path}`);
  return sizes;
}

function refuseLong(name: string, sizes: ProblemSizes, key: string): void {
  if (longest(sizes) <= TOO_LONG) return;
  throw new UsageError(
    `${name}: a problem and its answer have up to ${longest(sizes)} characters, the tiny model ` +
      `of a new project reads ${TOO_LONG}`,
    {
      advice: "Train a pretrained model on it: " +
        `rgx train rgx:base.yaml model.model_name_or_path=MODEL ${key}`,
    },
  );
}

const longest = ({ prompt, answer }: ProblemSizes) => prompt.longest + (answer?.longest ?? 0);

function measure(entries: readonly Entry[], count: number, hasHeldOut: boolean): ProblemSizes {
  const isChat = entries.some(({ messages }) => messages !== undefined);
  const prompts = entries.map(({ question, messages }) =>
    isChat ? chatText(messages ?? [{ role: "user", content: question }]) : question
  );
  const hasAnswers = entries.every(({ answer, metadata }) =>
    answer !== null || typeof metadata["completion"] === "string"
  );
  const answers = hasAnswers ? entries.map((entry) => workedAnswer(entry)) : [];
  const others = new Set<string>();
  for (const text of [...prompts, ...answers]) {
    for (const character of text) if (!/[ -~\n]/.test(character)) others.add(character);
  }
  return {
    count,
    prompt: lengthOf(prompts),
    answer: hasAnswers ? lengthOf(answers) : null,
    words: Math.max(0, ...answers.map((text) => text.trim().split(/\s+/).length)),
    others: [...others].sort().join(""),
    hasHeldOut,
    isChat,
    isFound: answers.every((text, i) => scoreCompletion(text, entries[i]!).score >= CORRECT),
  };
}

/** The text that the chat template of a project writes (project/chat_template.jinja). */
function chatText(messages: readonly { role: string; content: string }[]): string {
  return messages.map(({ role, content }) => `${role}: ${content}\n`).join("") + "assistant: ";
}

function lengthOf(texts: readonly string[]): Length {
  // The tags of answers are one token each.
  const lengths = texts.map((text) => [...text.replaceAll(/<\/?answer>/g, "#")].length);
  return { mean: mean(lengths), longest: Math.max(...lengths) };
}
