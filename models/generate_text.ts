/** Text from a loaded model: whole, or token by token as it arrives. */
import type { ChatMessage } from "../core/chat_message.ts";
import { UsageError } from "../core/errors.ts";
import { eventStream } from "../core/event_stream.ts";
import { stopStrings, StopText } from "./generation/sampling/stop_strings.ts";
import type { Completion, GenerateOptions, GenerateRequest } from "./generation/types.ts";
import { type Form, keptConstraint } from "./grammar/token_constraint.ts";
import type { LoadedModel } from "./load_model.ts";
import type { Tokenizer } from "./tokenizers/types.ts";

/** A form that completions are held to, as vLLM's `structured_outputs`. */
export type StructuredOutputs =
  /** JSON that a JSON schema accepts. */
  | { json: unknown }
  /** Any JSON object. */
  | { jsonObject: true }
  /** A regular expression that matches the whole text. */
  | { regex: string }
  /** One of some texts. */
  | { choice: readonly string[] };

/** A new token of a completion while it is generated. */
export interface TextToken {
  /** Index of the prompt. */
  prompt: number;
  /** Index of the completion among those of its prompt. */
  completion: number;
  /** Its id in the vocabulary. */
  id: number;
  /** Log p of the policy at the sampling temperature, in nats. */
  logprob: number;
  /**
   * What the token adds to the text: "" while a character is not complete. Put together, these are
   * the completion's text, but for a character that is cut off at its end.
   */
  text: string;
}

/** A text that goes on, or the messages of a chat, which the model's chat template makes a text. */
export type Prompt = string | readonly ChatMessage[];

/** Options of `generate`. By default maxNewTokens is 256, temperature 1 and seed 42. */
export interface TextOptions extends
  Partial<
    Pick<
      GenerateOptions,
      | "maxNewTokens"
      | "temperature"
      | "topK"
      | "topP"
      | "minP"
      | "repetitionPenalty"
      | "minNewTokens"
      | "seed"
      | "activations"
    >
  > {
  /** Stop strings: a completion ends with the token that completes one of them, which is kept. */
  stop?: readonly string[];
  /** Number of completions of each prompt; default 1. */
  n?: number;
  /** Holds completions to a form; `maxNewTokens` may cut it off. */
  structuredOutputs?: StructuredOutputs;
  /** Called for each token as soon as it is there, in order within a completion. */
  onToken?: (token: TextToken) => void;
  /** Further values for the chat template, such as Qwen3's `enable_thinking`. */
  templateValues?: Readonly<Record<string, unknown>>;
  /** Aborting it ends the call, which then throws the signal's reason. */
  signal?: AbortSignal;
}

/** A completion with its text, without special tokens. */
export type TextCompletion = Completion & { text: string };

/**
 * Generates completions of prompts: [prompts][n]. The same seed gives the same text. Concurrent
 * calls run one after the other.
 * @throws UsageError, before any work, for an option or a prompt that is impossible; the signal's
 *   reason when it is aborted
 */
export async function generate(
  { model, tokenizer, eosIds }: Pick<LoadedModel, "model" | "tokenizer" | "eosIds">,
  prompts: readonly Prompt[],
  options: TextOptions = {},
): Promise<TextCompletion[][]> {
  const { maxNewTokens = 256, temperature = 1, seed = 42, n = 1, stop = [] } = options;
  const { structuredOutputs, templateValues, onToken, signal, ...sampling } = options;
  if (!(Number.isInteger(n) && n >= 1)) {
    throw new UsageError(`generate: n is ${n}, expected an integer of at least 1`);
  }
  signal?.throwIfAborted();
  const stopWhen = stopStrings(tokenizer, stop);
  const requests = prompts.map((given, prompt): GenerateRequest => ({
    promptId: prompt,
    promptIds: promptIds(given, tokenizer, templateValues),
    n,
    ...onToken && { onToken: tokenReader(tokenizer, prompt, onToken) },
    ...signal && { signal },
  }));
  const completions = await model.generate(requests, {
    ...sampling,
    maxNewTokens,
    temperature,
    seed,
    eosIds,
    ...stopWhen && { stopWhen },
    ...structuredOutputs && {
      constraint: keptConstraint(formOf(structuredOutputs), tokenizer, model.vocabSize),
    },
  });
  return completions.map((group) =>
    group.map((completion) => ({
      ...completion,
      text: tokenizer.decode(completion.ids, { skipSpecialTokens: true }),
    }))
  );
}

/**
 * As {@link generate}, with the tokens as an async iterator; `onToken` is not called. Its return
 * value has the completions. Leaving the loop ends the generation.
 */
export function generateTokens(
  loaded: Pick<LoadedModel, "model" | "tokenizer" | "eosIds">,
  prompts: readonly Prompt[],
  options: Omit<TextOptions, "onToken"> = {},
): AsyncGenerator<TextToken, TextCompletion[][], void> {
  return eventStream(
    (onToken, signal) => generate(loaded, prompts, { ...options, onToken, signal }),
    options.signal,
  );
}

/** @throws UsageError for messages to a model without a chat template */
function promptIds(
  prompt: Prompt,
  tokenizer: Tokenizer,
  values: Readonly<Record<string, unknown>> | undefined,
): number[] {
  if (typeof prompt === "string") return tokenizer.encode(prompt);
  const rendered = tokenizer.applyChatTemplate(prompt, values);
  if (rendered !== null) return tokenizer.encode(rendered, { addSpecialTokens: false });
  throw new UsageError("generate: the model has no chat template for messages", {
    advice: "Give the prompt as a text.",
  });
}

/** What a request calls for its tokens: adds the text of each. */
function tokenReader(
  tokenizer: Tokenizer,
  prompt: number,
  onToken: (token: TextToken) => void,
): NonNullable<GenerateRequest["onToken"]> {
  const completions: { ids: number[]; text: StopText }[] = [];
  return (completion, id, logprob) => {
    const { ids, text } = completions[completion] ??= { ids: [], text: new StopText([]) };
    ids.push(id);
    const added = text.push(tokenizer.decode(ids, { skipSpecialTokens: true }));
    onToken({ prompt, completion, id, logprob, text: added });
  };
}

/** @throws UsageError unless it has exactly one of the keys, with a value */
function formOf(asked: StructuredOutputs): Form {
  const keys = Object.keys(asked),
    wrong = (message: string) => new UsageError(`generate: structuredOutputs ${message}`);
  if (keys.length !== 1) throw wrong("expects one of json, jsonObject, regex and choice");
  if ("json" in asked) return { kind: "schema", schema: asked.json };
  if ("regex" in asked) return { kind: "regex", pattern: asked.regex };
  if ("choice" in asked) {
    const isText = (text: unknown) => typeof text === "string" && text !== "";
    if (asked.choice.length > 0 && asked.choice.every(isText)) {
      return { kind: "choice", choices: asked.choice };
    }
    throw wrong("choice expects texts that are not empty");
  }
  if (asked.jsonObject === true) return { kind: "object" };
  throw wrong(`has ${keys[0]}, expected json, jsonObject: true, regex or choice`);
}
