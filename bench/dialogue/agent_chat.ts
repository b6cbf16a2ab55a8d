/**
 * A dialogue that an agent leads: its requests to OpenAI's API become prompts, and the model's
 * answers become replies. Where a prompt begins with all ids of a row so far, the row goes on, and
 * else another row begins. All rows of a dialogue have its advantage. Requests are read and
 * answered as `rgx serve` does it, but the run alone says how answers are sampled.
 */
import type { ChatMessage } from "../../core/chat_message.ts";
import { isRecord, jsonObjectOrNull } from "../../core/json_file.ts";
import { stopStrings } from "../../models/generation/sampling/stop_strings.ts";
import type { Completion, GenerateRequest } from "../../models/generation/types.ts";
import { callId } from "../../models/tokenizers/dialects/dialect.ts";
import type { AgentLimits, ApiReply } from "../../rewards/environments/environment.ts";
import { asApiError, badRequest } from "../../serve/api_error.ts";
import { chatRequest } from "../../serve/chat.ts";
import { Choice } from "../../serve/choice.ts";
import { Fields } from "../../serve/fields.ts";
import type { ServedModel } from "../../serve/model_host.ts";
import { type Limits, messagesOf } from "../../serve/prompt_tokens.ts";
import type { ServedRequest } from "../../serve/request.ts";
import { PLAIN_SAMPLING } from "../../serve/sampling_fields.ts";
import type { PromptEncoder } from "../evaluation/prompt_encoder.ts";
import { type DialogueRow, idsOf } from "./segments.ts";

/** Requests in a row that may be refused; an agent could repeat one for ever. */
const MAX_REFUSED = 16;

interface AgentChatOptions extends AgentLimits {
  prompts: PromptEncoder;
  /** Tokens after all prompts together. */
  maxTokens: number;
  maxPositions: number;
  /** The place of the dialogue, which names the answers. */
  prompt: number;
  branch: number;
}

/** What an agent has asked. */
interface AgentRequest {
  served: ServedRequest;
  /** The whole prompt. */
  ids: readonly number[];
  messages: readonly ChatMessage[];
  row: DialogueRow;
  /** What the row gets before the answer. */
  next: readonly number[];
}

/** The limits of a request that come from nowhere else. */
const LIMITS: Omit<Limits, "maxModelLength"> = {
  maxN: 1,
  maxChoices: 1,
  maxLogprobs: 0,
  logprobsMode: "raw_logprobs",
  defaults: PLAIN_SAMPLING,
};

/** The most tokens of a prompt with which an agent's row may begin. */
export function longestPrompt(
  { maxPromptTokens }: AgentLimits,
  { maxTokens, maxPositions }: Pick<AgentChatOptions, "maxTokens" | "maxPositions">,
): number {
  return Math.max(1, Math.min(maxPromptTokens, maxPositions - maxTokens));
}

export class AgentChat {
  readonly rows: DialogueRow[] = [];
  /** Requests that were refused, one after the other. */
  refused = 0;
  /** Why the last of them was. */
  fault = "";
  #turns = 0;
  /** How many messages each row has. */
  readonly #known = new Map<DialogueRow, number>();
  #request: AgentRequest | null = null;
  readonly #model: ServedModel;

  constructor(private readonly options: AgentChatOptions) {
    const { tokenizer, eosIds } = options.prompts;
    const loaded = { tokenizer, eosIds, model: { vocabSize: tokenizer.vocabSize } };
    this.#model = { id: "policy", loaded } as unknown as ServedModel;
  }

  /** Takes a request. @returns what the agent is told instead of an answer; null: it gets one */
  take(body: string): ApiReply | null {
    try {
      this.#request = this.#read(body);
      this.refused = 0;
      return null;
    } catch (error) {
      const { status, body, message } = asApiError(error, (defect) => {
        throw defect;
      });
      this.refused++;
      this.fault = message;
      return { status, body };
    }
  }

  /** Whether too many requests were refused. */
  get isLost(): boolean {
    return this.refused >= MAX_REFUSED;
  }

  /** The whole prompt of the request that was taken, its row, and what that lacks of the prompt. */
  get asked(): Pick<AgentRequest, "ids" | "row" | "next"> | null {
    return this.#request;
  }

  /** Lets the request's row have its tokens. @returns messages that the dialogue did not have */
  begin(): readonly ChatMessage[] {
    const { row, next, messages } = this.#request!;
    const known = this.#known.get(row) ?? (this.rows.length === 0 ? messages.length : 0);
    this.#known.set(row, messages.length + 1);
    if (!this.rows.includes(row)) this.rows.push(row);
    if (next.length > 0) {
      row.segments.push({ from: "environment", ids: next, logprobs: next.map(() => 0) });
    }
    return messages.slice(known);
  }

  /** @throws ApiError */
  #read(body: string): AgentRequest {
    const { prompts: { tokenizer, settings }, maxPositions: maxModelLength } = this.options;
    const values = jsonObjectOrNull(body);
    if (values === null) throw badRequest("the body is no JSON object");
    const given = values["chat_template_kwargs"] ?? {};
    const kwargs = isRecord(given) ? { ...settings.chat_template_kwargs, ...given } : given;
    const fields = Fields.of({ ...values, chat_template_kwargs: kwargs });
    const limits = { ...LIMITS, maxModelLength, time: settings.prompt_time };
    const served = chatRequest(fields, this.#model, limits), { sampling, prompts } = served.task;
    if (sampling.constraint !== null || sampling.adjust !== null) {
      const what = "answers are not held to a form here: leave out response_format, logit_bias, " +
        "and a tool_choice other than auto and none";
      throw badRequest(what);
    }
    const ids = prompts[0]!;
    if (ids.length === 0) throw badRequest("the prompt is empty", "messages");
    const row = this.#rowFor(ids), next = ids.slice(row.prompt.ids.length + idsOf(row).length);
    return { served, ids, messages: messagesOf(fields, tokenizer), row, next };
  }

  /** The newest row that the ids go on with, or a new one. @throws ApiError when it is too long */
  #rowFor(ids: readonly number[]): DialogueRow {
    const goesOn = (row: DialogueRow) => {
      const so = [...row.prompt.ids, ...idsOf(row)];
      return so.length < ids.length && so.every((id, i) => id === ids[i]);
    };
    const known = this.rows.findLast(goesOn), most = longestPrompt(this.options, this.options);
    if (known !== undefined) return known;
    if (ids.length <= most) {
      const text = this.options.prompts.tokenizer.decode(ids);
      return { prompt: { text, ids: [...ids] }, segments: [], turns: [] };
    }
    const message =
      `the prompt has ${ids.length} tokens; one that goes on with no earlier answer ` +
      `has at most ${most} (max_prompt_length)`;
    throw badRequest(message, "messages", "context_length_exceeded");
  }

  /** What limits and ends the answer to the request. @param left the tokens that are left */
  sampling(left: number): NonNullable<GenerateRequest["sampling"]> {
    const { prompts: { tokenizer }, maxPositions } = this.options, { served, ids } = this.#request!;
    const { maxTokens, stops } = served.task.sampling;
    const stopWhen = stopStrings(tokenizer, stops);
    return {
      maxNewTokens: Math.min(left, maxTokens ?? left, maxPositions - ids.length),
      ...(stopWhen === null ? {} : { stopWhen }),
    };
  }

  /** Adds the answer of the model to its row. @returns it as a message, and as the agent gets it */
  answer({ ids, logprobs, finishReason }: Completion): { message: ChatMessage; reply: ApiReply } {
    const { prompts: { tokenizer, eosIds }, prompt, branch } = this.options;
    const { served, row, ids: promptIds } = this.#request!;
    const { task: { sampling, top, reading = null } } = served;
    row.segments.push({ from: "model", ids, logprobs });
    row.turns.push(this.#turns++);
    const choice = new Choice({
      tokenizer,
      promptIds,
      sampling,
      endIds: new Set([...eosIds, ...reading?.stopIds ?? []]),
      top,
      streams: false,
      follows: false,
      reader: reading?.reader() ?? null,
    });
    ids.forEach((id, i) => choice.push(id, logprobs[i]!, null));
    choice.end(finishReason);
    const whole = served.whole(this.#model, [{ promptIds, choices: [choice], scored: null }]);
    const name = `chatcmpl-${prompt}-${branch}-${this.#turns}`;
    const body = namedBody(whole as WholeBody, name, this.#turns);
    const { content, reasoning, toolCalls } = choice.answer;
    const message = {
      role: "assistant",
      content,
      ...(reasoning === undefined ? {} : { reasoning_content: reasoning }),
      ...(toolCalls.length === 0 ? {} : {
        tool_calls: toolCalls.map((call) => ({ type: "function" as const, function: call })),
      }),
    };
    return { message, reply: { status: 200, body } };
  }
}

interface WholeBody {
  choices: { message: { tool_calls?: { id: string }[] } }[];
}

/** An answer whose names follow from its place, so that it is the same when it is played again. */
function namedBody(body: WholeBody, name: string, turn: number): object {
  const choices = body.choices.map((choice) => {
    const { message } = choice, { tool_calls: calls } = message;
    if (calls === undefined) return choice;
    const named = calls.map((call, k) => ({ ...call, id: callId(turn * 128 + k) }));
    return { ...choice, message: { ...message, tool_calls: named } };
  });
  return { ...body, id: name, created: 0, choices };
}
