/**
 * A dialogue of a model with an environment and tools: its limits, the reason for its end, and its
 * record. `play_dialogues.ts` plays many of them at once.
 */
import type { EnvironmentKeys, RunConfig } from "../../configs/schema/run_config.ts";
import type { ChatMessage, Tool } from "../../core/chat_message.ts";
import { UsageError } from "../../core/errors.ts";
import { maxOf, mean, minOf } from "../../core/statistics.ts";
import { SAMPLE_START } from "../../data/empty_source.ts";
import {
  environmentName,
  type OpenEnvironments,
} from "../../rewards/environments/open_environments.ts";
import type { Entry } from "../../tasks/types.ts";
import type { EncodedPrompt, PromptEncoder } from "../evaluation/prompt_encoder.ts";
import type { DialogueRow, Segment } from "./segments.ts";
import type { Transcript } from "./transcript.ts";

/** Why a dialogue ended; all but the first two are limits, and count as cut off. */
export type StopReason =
  | "completed" // the model called no tool, and nothing answers a message
  | "done" // the environment ended it
  | "max_turns"
  | "max_tool_calls"
  | "length" // the tokens of an answer or of all
  | "context_overflow" // the positions of the model
  | "parse_error"
  | "timeout"
  | "error"; // the environment failed

/** The limits of dialogues: the section `multi_turn`, and TRL's key of rounds of tool calls. */
export type DialogueLimits = RunConfig["multi_turn"] & {
  max_tool_calling_iterations: number | null;
};

/** What a configuration says about dialogues. */
export interface DialogueKeys extends EnvironmentKeys {
  /** All limits of dialogues. */
  limits: DialogueLimits;
}

export function dialogueKeys(config: RunConfig): DialogueKeys {
  const { environment, environments, tools, multi_turn } = config;
  const { max_tool_calling_iterations } = config.training;
  return {
    environment,
    environments,
    tools,
    limits: { ...multi_turn, max_tool_calling_iterations },
  };
}

/** Names of the environments and of the files with tools. */
export function namesOf({ environment, environments, tools }: DialogueKeys): string[] {
  return [
    ...environment === null ? [] : [environmentName(environment)],
    ...Object.keys(environments ?? {}),
    ...tools.map(environmentName),
  ];
}

/** The environments of a run and the limits of its dialogues. */
export interface DialogueSetup {
  environments: OpenEnvironments;
  limits: DialogueLimits;
  /** Positions of the model. */
  maxPositions: number;
  /** What earlier processes of the run exchanged with the environments; default: nothing. */
  transcript?: Transcript;
}

/**
 * The tokens that end an answer: those of the model, and with tools the end of a call.
 * @throws UsageError for a model that cannot be shown the tools
 */
export function endTokens(
  prompts: PromptEncoder,
  environments: OpenEnvironments | null,
  format: string,
): number[] {
  const { hasAgents = false, tools = [] } = environments ?? {}, dialect = prompts.dialect(format);
  if (hasAgents && dialect === null) {
    throw new UsageError("an agent asks in chats, and the model has no chat template", {
      advice: "In training, model.chat_template names a template.",
    });
  }
  if (!hasAgents && tools.length === 0) return [...prompts.eosIds];
  const why = dialect === null ? "the model is prompted with plain text" : dialect.whyNoTools;
  if (hasAgents && why !== null) return [...prompts.eosIds];
  if (why === null) return [...new Set([...prompts.eosIds, ...dialect!.stopIds])];
  throw new UsageError(`tools cannot be shown to this model: ${why}`, {
    advice: "Take a model whose chat template has tools; in training, model.chat_template names " +
      "another template. An environment with step needs none.",
  });
}

/** The problem with its tools, and with the environment's observation after its last message. */
export function withObservation(
  given: Entry,
  observation: string,
  tools: readonly Tool[],
): Entry {
  const shown = tools.length === 0 ? {} : { tools };
  const entry = { ...given, templateVariables: { ...given.templateVariables, ...shown } };
  const { messages } = entry, last = messages?.at(-1);
  const metadata = { ...entry.metadata, [SAMPLE_START]: null };
  if (messages === undefined || last === undefined) {
    return { ...entry, metadata, question: entry.question + observation };
  }
  const content = last.content + observation;
  return { ...entry, metadata, messages: [...messages.slice(0, -1), { ...last, content }] };
}

/** A dialogue that has ended. */
export interface Dialogue {
  /** The prompt, with the observation of the environment. */
  prompt: EncodedPrompt;
  segments: readonly Segment[];
  /** The rows that the segments are of, where they do not all follow the prompt (an agent's). */
  rows?: readonly DialogueRow[];
  /** What followed the prompt. */
  messages: readonly ChatMessage[];
  /** The model's last answer, without special tokens. */
  text: string;
  truncated: boolean;
  /** The environment's reward; null = none. */
  reward: number | null;
  about: DialogueFacts;
}

/** The counts of a dialogue. */
export interface DialogueFacts {
  /** Why it ended. */
  stop: StopReason;
  /** The error of an environment or a tool that ended the dialogue. */
  error: string | null;
  /** Answers of the model. */
  turns: number;
  /** Messages of the environment's `step`. */
  userTurns: number;
  /** The environment's rewards by turns of the model. [turns] */
  turnRewards: readonly number[];
  /** Calls of tools and how many failed, by name; unknown names are under "". */
  tools: Readonly<Record<string, { calls: number; failures: number }>>;
  /** Numbers of the environment, its last value for each name. */
  metrics: Readonly<Record<string, number>>;
}

/** A dialogue as results of a benchmark keep it. */
export interface DialogueRecord extends DialogueFacts {
  /** What followed the prompt. */
  messages: readonly ChatMessage[];
  /** The environment's reward; null = none. */
  reward: number | null;
}

/** Metrics of dialogues: TRL's of tools, verl's of turns, and the share of each stop reason. */
export function dialogueMetrics(all: readonly DialogueFacts[]): Record<string, number> {
  // As verl counts them: the prompt, the answers, and the messages between them.
  const turns = all.map(({ turns, userTurns }) => 1 + turns + userTurns);
  const byTool = new Map<string, { calls: number; failures: number }>();
  for (const [name, { calls, failures }] of all.flatMap(({ tools }) => Object.entries(tools))) {
    const sum = byTool.get(name) ?? { calls: 0, failures: 0 };
    byTool.set(name, { calls: sum.calls + calls, failures: sum.failures + failures });
  }
  const total = (key: "calls" | "failures") =>
    [...byTool.values()].reduce((sum, tool) => sum + tool[key], 0);
  const calls = total("calls");
  const metrics: Record<string, number> = {
    "tools/call_frequency": calls / all.length,
    "tools/failure_frequency": calls === 0 ? 0 : total("failures") / calls,
    "num_turns/mean": mean(turns),
    "num_turns/max": maxOf(turns),
    "num_turns/min": minOf(turns),
  };
  for (const [name, sums] of byTool) {
    if (name === "") continue;
    metrics[`tools/${name}/calls`] = sums.calls;
    metrics[`tools/${name}/failures`] = sums.failures;
  }
  for (const [reason, ended] of Map.groupBy(all, ({ stop }) => stop)) {
    metrics[`stop/${reason}`] = ended.length / all.length;
  }
  for (const name of new Set(all.flatMap(({ metrics }) => Object.keys(metrics)))) {
    metrics[`environment/${name}`] = mean(all.flatMap(({ metrics }) => metrics[name] ?? []));
  }
  return metrics;
}
