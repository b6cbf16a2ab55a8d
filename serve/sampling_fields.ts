/** The fields of a request that say how tokens are sampled: those of OpenAI, and those of vLLM. */
import { messageOf, UsageError } from "../core/errors.ts";
import { readJsonObject } from "../core/json_file.ts";
import { logitsProcessor } from "../models/generation/sampling/logits_processor.ts";
import type { AnswerSpan } from "../models/generation/types.ts";
import type { Tokenizer } from "../models/tokenizers/types.ts";
import { badRequest } from "./api_error.ts";
import { Fields, isIds } from "./fields.ts";
import { type Distribution, LOGPROBS_MODES, type LogprobsMode } from "./logprobs_json.ts";
import {
  type Form,
  keptConstraint,
  type TokenConstraint,
} from "../models/grammar/token_constraint.ts";

/** How the completions of one request are sampled. */
export interface SamplingFields extends Distribution {
  /** Null = up to the end of the context. */
  maxTokens: number | null;
  minTokens: number;
  n: number;
  /** Null = random. */
  seed: number | null;
  /** Numbers of the prompt and of its first branch, which key the random draws with the seed. */
  promptId: number;
  firstBranch: number;
  /** Tokens of the dialogue that are in the prompt already. */
  firstPosition: number;
  /** Where the prompt has earlier answers of its dialogue; null = it is no turn of one. */
  answers: AnswerSpan[] | null;
  stops: string[];
  stopTokenIds: number[];
  ignoreEos: boolean;
  skipSpecialTokens: boolean;
  returnTokenIds: boolean;
  tokensAsIds: boolean;
  logprobsMode: LogprobsMode;
}

/** How a request samples that does not say how. */
export interface SamplingDefaults
  extends Pick<Distribution, "temperature" | "topP" | "topK" | "minP" | "repetitionPenalty"> {
  /** Length of an answer to a chat; null = up to the end of the context. */
  maxTokens: number | null;
}

export interface SamplingLimits {
  tokenizer: Tokenizer;
  vocabSize: number;
  maxN: number;
  logprobsMode: LogprobsMode;
  defaults: SamplingDefaults;
  /** A form that other fields of the request ask for. */
  held?: Asked | null;
}

/** The defaults of the OpenAI API. */
export const PLAIN_SAMPLING: SamplingDefaults = {
  temperature: 1,
  topP: 1,
  topK: 0,
  minP: 0,
  repetitionPenalty: 1,
  maxTokens: null,
};
const MAX_STOPS = 64, MAX_STOP_LENGTH = 1024, MAX_BRANCHES = 4096, MAX_POSITION = 2 ** 20 - 1;
/** A number of tokens that no context has, so that it is cut. */
const ANY_COUNT = Number.MAX_SAFE_INTEGER;

/** Fields of vLLM that would change the answer. */
const REFUSED = [
  ["use_beam_search", "completions are sampled"],
  ...["json", "regex", "choice", "grammar"].map((form) =>
    [`guided_${form}`, "use structured_outputs"] as const
  ),
  ...["allowed_token_ids", "bad_words"].map((name) => [name, "use logit_bias"] as const),
  ["include_stop_str_in_output", "stop_reason has the stop string"],
  ["truncate_prompt_tokens", "send the tokens that are wanted"],
  ["documents", "chat_template_kwargs has them"],
] as const;

/** @param maxTokensNames the fields that say how long a completion is, the first one given wins */
export function samplingFields(
  fields: Fields,
  maxTokensNames: readonly string[],
  { tokenizer, vocabSize, maxN, logprobsMode, defaults, held = null }: SamplingLimits,
): SamplingFields {
  for (const [name, why] of REFUSED) fields.refuse(name, why);
  const given = maxTokensNames.find((name) => fields.has(name));
  const n = fields.integer("n", [1, maxN], 1);
  const firstBranch = fields.integer("first_branch", [0, MAX_BRANCHES - n], 0);
  const stops = fields.strings("stop");
  if (stops.includes("")) throw fields.wrong("stop", "texts that are not empty");
  if (stops.length > MAX_STOPS || stops.some(({ length }) => length > MAX_STOP_LENGTH)) {
    throw badRequest(`stop: at most ${MAX_STOPS} texts of ${MAX_STOP_LENGTH} characters`, "stop");
  }
  const stopTokenIds = fields.ids("stop_token_ids", vocabSize);
  const constraint = constraintOf(fields, tokenizer, vocabSize, held);
  const minTokens = fields.integer("min_tokens", [0, ANY_COUNT], 0);
  if (constraint !== null && minTokens > 0) {
    throw badRequest("min_tokens: an answer that is held to a form ends with it", "min_tokens");
  }
  const maxTokens = given === undefined ? null : fields.integer(given, [0, ANY_COUNT], 0);
  if (maxTokens !== null && minTokens > maxTokens) {
    throw badRequest(`min_tokens ${minTokens} is more than ${given} ${maxTokens}`, "min_tokens");
  }
  const seed = fields.has("seed") ? fields.integer("seed", [-(2 ** 63), 2 ** 64], 0) : null;
  return {
    maxTokens,
    minTokens,
    n,
    seed: seed === null ? null : Number(BigInt.asUintN(53, BigInt(seed))),
    promptId: fields.integer("prompt_id", [0, 2 ** 53], 0),
    firstBranch,
    firstPosition: fields.integer("first_position", [0, MAX_POSITION], 0),
    answers: answersOf(fields),
    stops,
    stopTokenIds,
    ...distributionOf(fields, defaults),
    adjust: processorOf(fields, vocabSize),
    constraint,
    ignoreEos: fields.boolean("ignore_eos", false),
    skipSpecialTokens: fields.boolean("skip_special_tokens", true),
    returnTokenIds: fields.boolean("return_token_ids", false),
    tokensAsIds: fields.boolean("return_tokens_as_token_ids", false),
    logprobsMode: modeOf(fields, logprobsMode),
  };
}

function answersOf(fields: Fields): AnswerSpan[] | null {
  const value = fields.raw("answers");
  if (value === undefined) return null;
  const isSpan = (span: unknown) => isIds(span, MAX_POSITION) && span.length === 2;
  if (!Array.isArray(value) || !value.every(isSpan)) {
    throw fields.wrong("answers", "a list of [begin, end] of the prompt's tokens");
  }
  return value.map(([begin, end]) => ({ begin, end }));
}

function distributionOf(
  fields: Fields,
  absent: SamplingDefaults,
): Omit<SamplingDefaults, "maxTokens"> {
  return {
    temperature: fields.number("temperature", [0, 100], absent.temperature),
    topP: fields.number("top_p", [0, 1], absent.topP, true),
    topK: Math.max(0, fields.integer("top_k", [-1, ANY_COUNT], absent.topK)),
    minP: fields.number("min_p", [0, 1], absent.minP),
    repetitionPenalty: fields.number(
      "repetition_penalty",
      [0, 100],
      absent.repetitionPenalty,
      true,
    ),
  };
}

/**
 * The defaults that a model's generation_config.json names, those of OpenAI for the others.
 * @param folder the model's
 * @throws UsageError for values that requests could not have either
 */
export async function readSamplingDefaults(folder: string): Promise<SamplingDefaults> {
  const path = `${folder}/generation_config.json`;
  // A GGUF file has no files beside it that belong to it.
  if (folder.endsWith(".gguf")) return PLAIN_SAMPLING;
  const fields = Fields.of(await readJsonObject(path) ?? {});
  try {
    const maxTokens = fields.integer("max_new_tokens", [0, ANY_COUNT], 0) || null;
    return { ...distributionOf(fields, PLAIN_SAMPLING), maxTokens };
  } catch (error) {
    throw new UsageError(`${path}: ${messageOf(error)}`, {
      advice: "--generation-config none leaves the file aside.",
      cause: error,
    });
  }
}

function processorOf(fields: Fields, vocabSize: number): Distribution["adjust"] {
  const logitBias = new Map<number, number>();
  const bias = fields.object("logit_bias");
  for (const [id] of bias?.entries ?? []) {
    logitBias.set(Number(id), bias!.number(id, [-100, 100], 0));
    if (/^\d+$/.test(id) && Number(id) < vocabSize) continue;
    throw badRequest(`logit_bias.${id}: expected a token id 0 … ${vocabSize - 1}`, "logit_bias");
  }
  const presencePenalty = fields.number("presence_penalty", [-2, 2], 0);
  const frequencyPenalty = fields.number("frequency_penalty", [-2, 2], 0);
  return logitsProcessor({ presencePenalty, frequencyPenalty, logitBias }, vocabSize);
}

function modeOf(fields: Fields, absent: LogprobsMode): LogprobsMode {
  const name = fields.string("logprobs_mode") ?? absent;
  const mode = LOGPROBS_MODES.find((known) => known === name);
  if (mode === undefined) throw fields.wrong("logprobs_mode", LOGPROBS_MODES.join(", "));
  return mode;
}

/*
 * The fields of a request that hold its answers to a form: `response_format` of OpenAI, and
 * `structured_outputs` of vLLM.
 */

const MAX_CHOICES = 1000;

/** A form, and the field that asks for it. */
interface Asked {
  form: Form;
  param: string;
}

/** Null = answers are free. @throws ApiError for a form that is wrong or not supported */
function constraintOf(
  fields: Fields,
  tokenizer: Tokenizer,
  vocabSize: number,
  held: Asked | null,
): TokenConstraint | null {
  // Clients send response_format also where calls must be made. It is about texts, not about calls.
  const format = responseFormat(fields), first = held === null ? format : [held];
  const [asked, other] = [...first, ...structuredOutputs(fields)];
  if (asked === undefined) return null;
  const { form, param } = asked;
  if (other !== undefined) {
    throw badRequest(`${param} and ${other.param} exclude each other`, param);
  }
  try {
    return keptConstraint(form, tokenizer, vocabSize);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    const { message, advice } = error;
    throw badRequest(`${param}: ${message}${advice === undefined ? "" : ` (${advice})`}`, param);
  }
}

function responseFormat(fields: Fields): Asked[] {
  const format = fields.object("response_format"), param = "response_format";
  if (format === undefined) return [];
  const type = format.string("type") ?? "text";
  if (type === "text") return [];
  if (type === "json_object") return [{ form: { kind: "object" }, param }];
  if (type !== "json_schema") throw format.wrong("type", "text, json_object or json_schema");
  const described = format.object("json_schema");
  if (described === undefined) throw format.wrong("json_schema", "an object");
  // `strict` makes no difference: answers are always held to the schema.
  described.boolean("strict", false);
  const schema = described.raw("schema");
  if (schema === undefined) throw described.wrong("schema", "a JSON schema");
  return [{ form: { kind: "schema", schema }, param }];
}

function structuredOutputs(fields: Fields): Asked[] {
  const param = "structured_outputs", given = fields.object(param);
  if (given === undefined) return [];
  for (const name of ["grammar", "structural_tag"]) given.refuse(name, "use json, regex or choice");
  const forms: Form[] = [];
  if (given.has("json")) {
    const schema = given.raw("json");
    forms.push({ kind: "schema", schema: typeof schema === "string" ? parsed(given) : schema });
  }
  const pattern = given.string("regex");
  if (pattern !== undefined) forms.push({ kind: "regex", pattern });
  if (given.has("choice")) {
    const choices = given.strings("choice");
    if (choices.length === 0 || choices.length > MAX_CHOICES || choices.includes("")) {
      throw given.wrong("choice", `1 to ${MAX_CHOICES} texts that are not empty`);
    }
    forms.push({ kind: "choice", choices });
  }
  if (given.boolean("json_object", false)) forms.push({ kind: "object" });
  if (forms.length !== 1) {
    throw badRequest(`${param}: expected one of json, json_object, regex and choice`, param);
  }
  return [{ form: forms[0]!, param }];
}

function parsed(given: Fields): unknown {
  try {
    return JSON.parse(given.string("json")!);
  } catch {
    throw given.wrong("json", "a JSON schema");
  }
}
