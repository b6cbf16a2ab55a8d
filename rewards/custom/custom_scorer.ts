/**
 * Scores with a reward from a user's file, which runs in a process of its own: TypeScript or
 * JavaScript in a sandbox, Python without one.
 */
import { ResultCache } from "../../core/cache/result_cache.ts";
import { userCache } from "../../core/cache/user_cache.ts";
import { messageOf, UsageError } from "../../core/errors.ts";
import { fileName } from "../../core/paths.ts";
import { REWARD_HOST } from "../../core/sandbox/host_commands.ts";
import { type CallKind, SandboxCalls } from "../../core/sandbox/sandbox_calls.ts";
import {
  type AboutReward,
  decodeCell,
  type Outcome,
  type RewardNotes,
  type Scored,
  type Scorer,
} from "../scorer.ts";
import type { RewardSample } from "../types.ts";
import { hostProblem, isPython, loadRewardFile, type RewardFile } from "./reward_file.ts";
import { readFile } from "node:fs/promises";
import { isRecord } from "../../core/json_file.ts";
import host from "./python_host.py" with { type: "text" };

/** What rewards in Python need. */
export interface PythonOptions {
  /** The user allows code in Python, which runs with all rights; default false. */
  allowPython?: boolean;
  /** Number of steps of the run, once it is known; null: none. */
  maxSteps?: () => number | null;
}

/** Its samples are RewardSample, in Python PythonSample. */
type Sandbox = SandboxCalls<AboutReward, unknown, Scored>;

/** @param timeout seconds for one value @throws UsageError for an invalid host */
export function customScorer(
  name: string,
  file: RewardFile,
  params: Readonly<Record<string, unknown>>,
  timeout: number,
  { allowPython = false, maxSteps = () => null }: PythonOptions = {},
): Scorer {
  const { path, net = [] } = file, inPython = isPython(path);
  for (const host of net) {
    const problem = inPython
      ? "hosts cannot be granted to Python, which may connect to all of them"
      : hostProblem(host);
    if (problem !== null) throw new UsageError(`reward ${name}: net: ${problem}`);
  }
  const limits = {
    timeout,
    concurrency: file.concurrency ?? (net.length > 0 || inPython ? 8 : 1),
    retries: file.retries ?? (net.length > 0 ? 2 : 0),
  };
  let sandbox: Sandbox | null = null;
  const warnings: string[] = [];
  let known: KnownValues | null = null;
  // The file is read once, so the source is the same for the whole run.
  const open = async () => {
    if (sandbox !== null) return sandbox;
    if (inPython && !allowPython) throw refusal(name, path);
    const source = inPython ? null : await loadRewardFile(path);
    const { calls, identity } = source === null
      ? await pythonCalls(KIND, file)
      : { calls: new SandboxCalls(SANDBOXED, path, source, net) as Sandbox, identity: source };
    await calls.start();
    if (file.cache && calls.about!.wholeBatch) {
      const why = inPython
        ? "its function gets all completions at once"
        : "computeBatch compares completions";
      throw new UsageError(`reward ${name}: cache: ${why}`, {
        advice: "Only values of one completion at a time can be kept.",
      });
    }
    if (file.cache) known = await openCache(name, [identity, params], warnings);
    return sandbox = calls;
  };
  return {
    name,
    get wholeBatch() {
      return sandbox?.about?.wholeBatch ?? false;
    },
    get needs() {
      return sandbox?.about?.needs ?? [];
    },
    async open() {
      const opened = await open();
      await opened.close();
    },
    close: async () => await sandbox?.close(),
    async score(samples, notes) {
      const start = performance.now();
      try {
        const opened = await open(), sent = samples.map(plain);
        const keys = known === null ? [] : sent.map(keyOf);
        const results = keys.map((key) => known!.get(key));
        const rows = [...sent.keys()].filter((row) => results[row] === undefined);
        const items = rows.map((row) =>
          inPython ? pythonSample(samples[row]!, maxSteps()) : sent[row]!
        );
        const scored = await opened.run(items, params, limits);
        for (const [i, row] of rows.entries()) {
          results[row] = scored[i]!;
          if ("value" in scored[i]!.result) await known?.set(keys[row]!, scored[i]!);
        }
        if (net.length > 0 || known !== null) {
          notes.add(`rewards/${name}/requests`, rows.length);
          notes.add(`rewards/${name}/seconds`, (performance.now() - start) / 1000);
          for (const { cost } of scored) if (cost > 0) notes.addCost(name, cost);
        }
        if (known !== null) notes.add(`rewards/${name}/cached`, samples.length - rows.length);
        notes.warnings.push(...warnings.splice(0));
        return results.map((one, row) => record(one!, row, notes));
      } catch (error) {
        return samples.map(() => ({ error: messageOf(error) }));
      }
    },
  };
}

function refusal(name: string, path: string): UsageError {
  return new UsageError(`reward ${name}: ${path} is Python, which is not allowed`, {
    advice: "Python is not sandboxed: it may do all that you may do. If you trust this file and " +
      "what it imports, add --allow-python.",
  });
}

type KnownValues = ResultCache<Scored>;

/** The cache of a reward: a file for its code and parameters. Null where there is no home. */
async function openCache(
  name: string,
  identity: unknown,
  warnings: string[],
): Promise<KnownValues | null> {
  const root = userCache();
  if (root === null) return null;
  const warn = (message: string) => void warnings.push(`reward ${name}: ${message}`);
  const hash = ResultCache.key(identity).slice(0, 12);
  try {
    await Deno.mkdir(`${root}/rewards`, { recursive: true });
    return await ResultCache.open(
      `${root}/rewards/${fileName(name)}-${hash}.jsonl`,
      isScored,
      warn,
    );
  } catch (error) {
    warn(`values are not kept: ${messageOf(error)}`);
    return null;
  }
}

function isScored(value: unknown): value is Scored {
  const { result, logged, extras, cost } = (value ?? {}) as Partial<Scored>;
  return typeof result === "object" && result !== null && "value" in result &&
    Array.isArray(logged) && Array.isArray(extras) && typeof cost === "number";
}

/** All inputs of a kept value. The step is none of them. */
function keyOf(sample: RewardSample): string {
  const { prompt, messages, completion, answer, info, truncated, dialogue } = sample;
  return ResultCache.key({ prompt, messages, completion, answer, info, truncated, dialogue });
}

/**
 * The fields that can be sent. A program that uses rgx may have added others. The entry's columns,
 * which repeat most of its row, are for functions of Python only.
 */
function plain(sample: RewardSample): RewardSample {
  const { columns: _, ...entry } = sample.entry;
  return {
    prompt: sample.prompt,
    messages: sample.messages,
    completion: sample.completion,
    answer: sample.answer,
    info: sample.info,
    entry,
    ...(sample.dialogue === undefined ? {} : {
      dialogue: sample.dialogue,
      environmentReward: sample.environmentReward ?? null,
    }),
    completionIds: [...sample.completionIds],
    truncated: sample.truncated,
    step: sample.step,
    maxCompletionLength: sample.maxCompletionLength,
  };
}

/** Takes over the notes of a sample. Its outcome is an error if a note is invalid. */
function record({ result, logged, extras }: Scored, row: number, notes: RewardNotes): Outcome {
  try {
    for (const [name, value] of logged) notes.log(name, value);
    for (const [column, cell] of extras) notes.logExtra(row, column, decodeCell(cell));
    return result;
  } catch (error) {
    return { error: messageOf(error) };
  }
}

const KIND: Omit<CallKind<AboutReward, Scored>, "host"> = {
  what: "reward",
  gives: "value",
  failed: (error, late) => ({ result: { error }, late, logged: [], extras: [], cost: 0 }),
  isTogether: ({ wholeBatch }) => wholeBatch,
};

const SANDBOXED: CallKind<AboutReward, Scored> = {
  ...KIND,
  host: {
    module: new URL("./host.ts", import.meta.url),
    reads: ["../", "../../core/"].map((folder) => new URL(folder, import.meta.url)),
    command: REWARD_HOST,
  },
};

/** Seconds in which the file is imported: with torch it may take long. */
const LOAD_TIME = 120;

export interface PythonSample {
  /** The row's prompt: a text, or messages where the row has a conversation. */
  prompt: unknown;
  /** A text, or messages: those of the dialogue, or the answer alone. */
  completion: unknown;
  completion_ids: readonly number[];
  /** All other columns of the row. */
  columns: Readonly<Record<string, unknown>>;
  trainer_state: { global_step: number; max_steps?: number };
  verl: Readonly<Record<string, unknown>>;
}

/** With all that its values depend on. @throws UsageError where the file cannot be read */
export async function pythonCalls(
  kind: Omit<CallKind<AboutReward, Scored>, "host">,
  { path, function: name, python = "python3" }: RewardFile,
): Promise<{ calls: SandboxCalls<AboutReward, unknown, Scored>; identity: unknown }> {
  const source = await readFile(path, "utf8").catch((cause) => {
    throw new UsageError(`the reward file ${path} cannot be read: ${cause.code}`, { cause });
  });
  const spec = JSON.stringify({ path, source, function: name ?? null });
  const program = [python, "-c", host] as const;
  const calls = new SandboxCalls<AboutReward, unknown, Scored>(
    { ...kind, host: { program }, loadTime: LOAD_TIME },
    path,
    spec,
    [],
  );
  return { calls, identity: [source, name] };
}

/** @param maxSteps of the run; null = not known */
export function pythonSample(sample: RewardSample, maxSteps: number | null): PythonSample {
  const { entry, messages, dialogue, completion, step } = sample;
  const { source_index: index, ...others } = sample.info;
  const columns: Record<string, unknown> = {
    ...sample.info,
    question: entry.question,
    answer: sample.answer,
    ...entry.columns,
  };
  for (const name of ["prompt", "completion", "completion_ids"]) delete columns[name];
  const isChat = messages !== null || dialogue !== undefined,
    text = entry.question ?? sample.prompt;
  const { data_source, reward_model, ground_truth, extra_info } = columns;
  const truth = isRecord(reward_model) ? reward_model["ground_truth"] : ground_truth;
  return {
    prompt: isChat ? messages ?? [{ role: "user", content: text }] : text,
    completion: isChat ? dialogue ?? [{ role: "assistant", content: completion }] : completion,
    completion_ids: sample.completionIds,
    columns,
    trainer_state: {
      global_step: Math.max(0, step - 1),
      ...(maxSteps !== null && { max_steps: maxSteps }),
    },
    verl: {
      data_source: data_source ?? sample.info["source_dataset"],
      solution_str: completion,
      ground_truth: truth ?? sample.answer ?? "",
      extra_info: {
        ...(isRecord(extra_info) ? extra_info : { index, ...others, ...columns }),
        num_turns: dialogue === undefined ? null : dialogue.length + 1,
        rollout_reward_scores: {},
      },
    },
  };
}
