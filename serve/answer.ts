/**
 * Answers one request: generates n completions of each of its prompts, as soon as the queue lets
 * them begin, and reports what each token adds.
 */
import { wrongAnswer } from "../models/generation/generation_job.ts";
import { stopStrings } from "../models/generation/sampling/stop_strings.ts";
import type { GenerateRequest, SamplingOptions } from "../models/generation/types.ts";
import type { SequenceLogprobs } from "../models/inspect/logprobs.ts";
import type { AnswerReader } from "../models/tokenizers/dialects/dialect.ts";
import { followingText } from "../models/tokenizers/following_text.ts";
import type { Tokenizer } from "../models/tokenizers/types.ts";
import { badRequest } from "./api_error.ts";
import { Choice, type ChoicePart } from "./choice.ts";
import type { FairQueue } from "./fair_queue.ts";
import type { Metrics } from "./metrics.ts";
import type { ModelHost, ServedModel } from "./model_host.ts";
import type { SamplingFields } from "./sampling_fields.ts";

export interface Desk {
  host: ModelHost;
  queue: FairQueue;
  metrics: Metrics;
  /** The seed of requests without one. It is one for all, so that rows are sampled together. */
  randomSeed: number;
  nextPromptId: () => number;
}

export interface Task {
  prompts: readonly (readonly number[])[];
  sampling: SamplingFields;
  /** Number of likeliest tokens of each place; null = no log-probabilities. */
  top: number | null;
  /** Number of likeliest tokens of each place in the prompts; null = no log-probabilities. */
  promptTop: number | null;
  /** Whether the texts continue that of the prompt; false: they are texts of their own. */
  continuesPrompt: boolean;
  /** How answers are read that may call tools. */
  reading?: Reading | null;
}

/** How answers are read that may call tools. */
export interface Reading {
  /** Tokens that end an answer, beside those of the model. */
  stopIds: readonly number[];
  reader: () => AnswerReader;
}

export interface PromptAnswer {
  promptIds: readonly number[];
  choices: Choice[];
  /** Null when nobody has asked for log-probabilities of the prompt. */
  scored: SequenceLogprobs | null;
}

/** Where parts go while they come. */
export interface Listener {
  /** Called before the first part of a prompt's choices. */
  begin?: (prompt: number, answer: PromptAnswer) => void;
  part?: (prompt: number, branch: number, choice: Choice, part: ChoicePart) => void;
}

/** @throws ApiError for a prompt that the model has no room for, or whose `answers` are wrong */
function checkPrompts(
  { maxModelLength }: ModelHost,
  { prompts, sampling: { answers } }: Task,
): void {
  for (const { length } of prompts) {
    const wrong = wrongAnswer(answers ?? [], length);
    if (wrong !== null) throw badRequest(wrong, "answers");
    if (length === 0) throw badRequest("the prompt is empty", "prompt");
    if (length < maxModelLength) continue;
    throw badRequest(
      `the prompt has ${length} tokens; the context has ${maxModelLength}, of which a completion ` +
        "needs at least one",
      "prompt",
      "context_length_exceeded",
    );
  }
}

/**
 * Answers in the order of the prompts. When one of them fails, the others end, too.
 * @throws ApiError 400 for a prompt that is too long, 429 at once; the signal's reason when it is
 *   aborted
 */
export async function answerAll(
  desk: Desk,
  model: ServedModel,
  task: Task,
  signal: AbortSignal,
  listener: Listener = {},
): Promise<PromptAnswer[]> {
  checkPrompts(desk.host, task);
  const add = desk.queue.open(), failed = new AbortController();
  const either = AbortSignal.any([signal, failed.signal]);
  const arrived = performance.now();
  const answers = task.prompts.map((promptIds, prompt) =>
    add(task.sampling.n, either, async () => {
      desk.metrics.queueSeconds.observe((performance.now() - arrived) / 1000);
      try {
        return await answerOne(desk, model, task, promptIds, prompt, either, listener);
      } catch (error) {
        failed.abort(error);
        throw error;
      }
    })
  );
  const settled = await Promise.allSettled(answers);
  signal.throwIfAborted();
  failed.signal.throwIfAborted();
  return settled.map((one) => {
    if (one.status === "rejected") throw one.reason;
    return one.value;
  });
}

async function answerOne(
  desk: Desk,
  model: ServedModel,
  { sampling, top, promptTop, continuesPrompt, reading = null }: Task,
  promptIds: readonly number[],
  prompt: number,
  signal: AbortSignal,
  { begin, part }: Listener,
): Promise<PromptAnswer> {
  const { host, metrics } = desk, { tokenizer, eosIds } = model.loaded;
  const ownEnds = [...eosIds, ...reading?.stopIds ?? []];
  const endIds = new Set([...sampling.ignoreEos ? [] : ownEnds, ...sampling.stopTokenIds]);
  const follows = continuesPrompt && promptIds.some((id) => tokenizer.tokenBytes(id) !== null);
  const streams = part !== undefined;
  const context = { tokenizer, promptIds, sampling, endIds, top, streams, follows };
  const newChoice = () => new Choice({ ...context, reader: reading?.reader() ?? null });
  const scored = promptTop === null ? null : await host.score(model, promptIds, promptTop);
  signal.throwIfAborted();
  const choices = Array.from({ length: sampling.n }, newChoice);
  const answer = { promptIds, choices, scored };
  const end = (branch: number, reason: "stop" | "length") => {
    const choice = choices[branch]!, rest = choice.end(reason);
    part?.(prompt, branch, choice, rest);
  };
  begin?.(prompt, answer);
  metrics.promptTokens += promptIds.length;
  const maxNewTokens = Math.min(
    sampling.maxTokens ?? Infinity,
    host.maxModelLength - promptIds.length,
  );
  if (maxNewTokens > 0) {
    let logits: Float32Array | Float64Array | null = null, newest = performance.now();
    const completions = await host.generate(
      model,
      {
        promptId: sampling.seed === null ? desk.nextPromptId() : sampling.promptId,
        promptIds,
        n: sampling.n,
        firstBranch: sampling.firstBranch,
        firstPosition: sampling.firstPosition,
        ...(sampling.answers && { answers: sampling.answers }),
        sampling: samplingOptions(desk, model, sampling, [...endIds], maxNewTokens),
        signal,
        ...(Choice.needsLogits(context)
          ? { onLogits: (_: number, values: Float32Array | Float64Array) => logits = values }
          : {}),
        onToken(branch, token, logprob) {
          const choice = choices[branch]!;
          const added = choice.push(token, logprob, logits);
          const isFirst = choice.ids.length === 1, now = performance.now();
          if (branch === 0) {
            (isFirst ? metrics.firstTokenSeconds : metrics.tokenSeconds)
              .observe((now - newest) / 1000);
            newest = now;
          }
          metrics.generatedTokens++;
          part?.(prompt, branch, choice, added);
        },
      } satisfies GenerateRequest,
    );
    completions.forEach(({ finishReason }, branch) => end(branch, finishReason));
  } else {
    choices.forEach((_, branch) => end(branch, "length"));
  }
  return answer;
}

function samplingOptions(
  desk: Desk,
  { loaded: { tokenizer } }: ServedModel,
  sampling: SamplingFields,
  eosIds: number[],
  maxNewTokens: number,
): SamplingOptions {
  const { temperature, topK, topP, minP, repetitionPenalty, adjust, stops, minTokens } = sampling;
  const { constraint } = sampling;
  // A stop string may begin with the blank of the first token.
  const decode: Tokenizer["decode"] = (ids, options) => followingText(tokenizer, ids, options);
  const stopWhen = stopStrings({ decode }, stops);
  return {
    maxNewTokens,
    temperature,
    topK,
    topP,
    minP,
    repetitionPenalty,
    eosIds,
    minNewTokens: Math.min(minTokens, maxNewTokens),
    seed: sampling.seed ?? desk.randomSeed,
    ...(adjust === null ? {} : { adjust }),
    ...(constraint === null ? {} : { constraint }),
    ...(stopWhen === null ? {} : { stopWhen }),
  };
}
