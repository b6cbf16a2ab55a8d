/** POST /v1/completions. */
import type { PromptAnswer, Task } from "./answer.ts";
import { badRequest } from "./api_error.ts";
import type { Choice } from "./choice.ts";
import type { Send } from "./event_stream.ts";
import { type Fields, isIds } from "./fields.ts";
import {
  type CompletionLogprobs,
  completionLogprobs,
  promptEntries,
  promptLogprobs,
  type TokenNames,
  tokenNames,
} from "./logprobs_json.ts";
import type { ServedModel } from "./model_host.ts";
import { type Limits, tokensOf } from "./prompt_tokens.ts";
import {
  Chunks,
  headOf,
  type Parts,
  type ServedRequest,
  type StreamFields,
  streamFields,
  usageOf,
} from "./request.ts";
import { samplingFields } from "./sampling_fields.ts";

/** OpenAI's default. */
const DEFAULT_MAX_TOKENS = 16;
/** Texts are split into tokens for so long before other requests get their turn. */
const TURN_MS = 10;

interface CompletionFields {
  /** Its sampling makes `best_of` completions of each prompt. */
  task: Task;
  /** How many of them are in the answer: the likeliest ones. */
  n: number;
  echo: boolean;
  stream: StreamFields;
}

/** Checks a body. @throws ApiError; the signal's reason when it is aborted */
export async function completionRequest(
  fields: Fields,
  { loaded: { tokenizer, model } }: ServedModel,
  limits: Limits,
  signal: AbortSignal,
): Promise<ServedRequest> {
  fields.refuse("suffix", "text is not inserted");
  const { vocabSize } = model;
  const sampling = samplingFields(fields, ["max_tokens"], { tokenizer, vocabSize, ...limits });
  const maxTokens = sampling.maxTokens ?? DEFAULT_MAX_TOKENS;
  const echo = fields.boolean("echo", false);
  if (maxTokens === 0 && !echo && !fields.has("prompt_logprobs")) {
    throw badRequest("max_tokens is 0 and echo is off: there is nothing to answer", "max_tokens");
  }
  const stream = streamFields(fields), bestOf = bestOfField(fields, sampling.n, limits, stream);
  const addSpecialTokens = fields.boolean("add_special_tokens", true);
  const given = promptsOf(fields, vocabSize);
  if (given.length * bestOf > limits.maxChoices) {
    const name = bestOf === sampling.n ? "n" : "best_of";
    throw badRequest(
      `${given.length} prompts × ${name} = ${bestOf}: at most ${limits.maxChoices} completions ` +
        "in one request",
      "prompt",
    );
  }
  const prompts: number[][] = [];
  let begin = performance.now();
  for (const prompt of given) {
    const isText = typeof prompt === "string";
    const ids = isText ? tokensOf(prompt, tokenizer, limits, { addSpecialTokens }) : prompt;
    prompts.push(ids);
    if (performance.now() - begin < TURN_MS) continue;
    await new Promise((resolve) => setTimeout(resolve, 0));
    signal.throwIfAborted();
    begin = performance.now();
  }
  const count = (name: string) =>
    fields.has(name) ? fields.integer(name, [0, limits.maxLogprobs], 0) : null;
  const top = count("logprobs"), promptTop = count("prompt_logprobs") ?? (echo ? top : null);
  const task = {
    prompts,
    sampling: { ...sampling, maxTokens, n: bestOf },
    top,
    promptTop,
    continuesPrompt: true,
  };
  const request = { task, n: sampling.n, echo, stream };
  return {
    task,
    stream,
    notes: [],
    whole: (model, answers) => wholeAnswer(request, model, answers),
    parts: (model, send) => partsOf(request, model, send),
  };
}

/** How many completions of each prompt are made, of which the n likeliest are in the answer. */
function bestOfField(
  fields: Fields,
  n: number,
  { maxN }: Limits,
  { isOn }: StreamFields,
): number {
  const bestOf = fields.integer("best_of", [n, Math.max(n, maxN)], n);
  if (bestOf > n && isOn) {
    throw badRequest("best_of chooses among whole completions: it needs stream: false", "best_of");
  }
  return bestOf;
}

type Prompt = string | number[];

function promptsOf(fields: Fields, vocabSize: number): Prompt[] {
  const prompt = fields.raw("prompt");
  const isPrompt = (value: unknown): value is Prompt =>
    typeof value === "string" || (isIds(value, vocabSize) && value.length > 0);
  if (isPrompt(prompt)) return [prompt];
  if (Array.isArray(prompt) && prompt.length > 0 && prompt.every(isPrompt)) return prompt;
  throw fields.wrong(
    "prompt",
    `a string, a list of token ids 0 … ${vocabSize - 1}, or a list of these that is not empty`,
  );
}

function wholeAnswer(
  request: CompletionFields,
  model: ServedModel,
  answers: readonly PromptAnswer[],
) {
  const { n } = request;
  const choices = answers.flatMap((answer, prompt) =>
    likeliest(answer.choices, n).map((choice, branch) => ({
      index: prompt * n + branch,
      ...wholeChoice(choice, answer, model, request),
    }))
  );
  return { ...headOf("cmpl-", "text_completion", model), choices, usage: usageOf(answers) };
}

/** The n choices whose tokens have the highest mean log-probability, the likeliest first. */
function likeliest(choices: Choice[], n: number): Choice[] {
  if (n === choices.length) return choices;
  return choices.toSorted((a, b) => b.meanLogprob - a.meanLogprob).slice(0, n);
}

function wholeChoice(
  choice: Choice,
  answer: PromptAnswer,
  model: ServedModel,
  request: CompletionFields,
) {
  const { echo, task: { sampling, top } } = request, { tokenizer } = model.loaded;
  const name = tokenNames(tokenizer, sampling.tokensAsIds);
  const before = echo ? promptText(answer, model) : "";
  const entries = [
    ...echo && answer.scored !== null ? promptEntries(answer.scored) : [],
    ...choice.tokens,
  ];
  return {
    text: before + choice.text,
    logprobs: top === null ? null : completionLogprobs(entries, name, 0),
    finish_reason: choice.finishReason,
    stop_reason: choice.stopReason,
    ...extras(choice, answer, name, request),
  };
}

/** Fields that only clients of vLLM know and ask for. */
function extras(
  choice: Choice,
  { promptIds, scored }: PromptAnswer,
  name: TokenNames,
  { echo, task: { sampling, top, promptTop } }: CompletionFields,
) {
  const isAsked = promptTop !== null && !(echo && promptTop === top);
  return {
    ...sampling.returnTokenIds ? { token_ids: choice.ids, prompt_token_ids: promptIds } : {},
    ...isAsked && scored !== null ? { prompt_logprobs: promptLogprobs(scored, name) } : {},
  };
}

function promptText({ promptIds }: PromptAnswer, { loaded: { tokenizer } }: ServedModel): string {
  return tokenizer.decode(promptIds, { skipSpecialTokens: true });
}

function partsOf(
  { echo, stream, task: { prompts, sampling, top } }: CompletionFields,
  model: ServedModel,
  send: Send,
): Parts {
  const { n } = sampling;
  const chunks = new Chunks(headOf("cmpl-", "text_completion", model), stream, send);
  const name = tokenNames(model.loaded.tokenizer, sampling.tokensAsIds);
  /** Characters of the tokens of each choice that were sent. */
  const offsets: number[] = [];
  /** Choices for which the ids of the prompt have been sent. */
  const begun = new Set<number>();
  const chunk = (index: number, text: string, logprobs: CompletionLogprobs | null, more = {}) =>
    chunks.add({ index, text, logprobs, finish_reason: null, stop_reason: null, ...more });
  const take = (index: number, entries: Parameters<typeof completionLogprobs>[0]) => {
    if (top === null) return null;
    const found = completionLogprobs(entries, name, offsets[index] ?? 0);
    offsets[index] = (offsets[index] ?? 0) + found.tokens.join("").length;
    return found;
  };
  return {
    begin(prompt, answer) {
      if (!echo) return;
      answer.choices.forEach((_, branch) => {
        const index = prompt * n + branch;
        const entries = answer.scored === null ? [] : promptEntries(answer.scored);
        chunk(index, promptText(answer, model), take(index, entries));
      });
    },
    part(prompt, branch, choice, { text, token }) {
      const index = prompt * n + branch;
      if (token === null) {
        const { finishReason: finish_reason, stopReason: stop_reason } = choice;
        chunk(index, text, null, { finish_reason, stop_reason });
      } else if (text !== "" || top !== null || sampling.returnTokenIds) {
        const isFirst = sampling.returnTokenIds && !begun.has(index);
        begun.add(index);
        chunk(index, text, take(index, [token]), {
          ...isFirst ? { prompt_token_ids: prompts[prompt] } : {},
          ...sampling.returnTokenIds ? { token_ids: [token.id] } : {},
        });
      }
    },
    end: (answers) => chunks.end(answers),
  };
}
