/**
 * Rewards in Python, written for TRL or for verl: what their functions get, and the process that
 * runs them (`python_host.py`). It has all rights of the user, so it is never started unless the
 * user has allowed it.
 */
import { readFile } from "node:fs/promises";
import { UsageError } from "../../core/errors.ts";
import { isRecord } from "../../core/json_file.ts";
import { type CallKind, SandboxCalls } from "../../core/sandbox/sandbox_calls.ts";
import type { RewardSample } from "../types.ts";
import type { AboutReward, Scored } from "../scorer.ts";
import type { RewardFile } from "./reward_file.ts";
import host from "./python_host.py" with { type: "text" };

/** Seconds in which the file is imported: with torch it may take long. */
const LOAD_TIME = 120;

/** A completion as functions of Python get it. */
export interface PythonSample {
  /** The row's prompt: a text, or messages where the row has a conversation. */
  prompt: unknown;
  /** A text, or messages: those of the dialogue, or the answer alone. */
  completion: unknown;
  completion_ids: readonly number[];
  /** All other columns of the row. */
  columns: Readonly<Record<string, unknown>>;
  trainer_state: { global_step: number; max_steps?: number };
  /** The arguments of verl's `compute_score`. */
  verl: Readonly<Record<string, unknown>>;
}

/**
 * Calls of the file's function, and all that its values depend on.
 * @throws UsageError where the file cannot be read
 */
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
