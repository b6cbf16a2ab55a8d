/** POST /v1/chat/completions. */
import type { PromptAnswer } from "./answer.ts";
import { badRequest } from "./api_error.ts";
import type { Choice, ChoicePart } from "./choice.ts";
import type { Send } from "./event_stream.ts";
import type { Fields } from "./fields.ts";
import { type ChatLogprob, chatLogprob, promptLogprobs, tokenNames } from "./logprobs_json.ts";
import type { ServedModel } from "./model_host.ts";
import { chatPrompt, type Limits } from "./prompt_tokens.ts";
import {
  Chunks,
  headOf,
  type Parts,
  type ServedRequest,
  streamFields,
  usageOf,
} from "./request.ts";
import { samplingFields } from "./sampling_fields.ts";
import { ApiCalls, readerOf, type ToolUse, toolUse, wholeCall } from "./tools.ts";

/** What a request says whose prompt is a chat. */
export interface ChatFields extends Pick<ServedRequest, "task" | "stream" | "notes"> {
  /** The tools that answers may call; null = none. */
  use: ToolUse | null;
}

/** Checks a body. @throws ApiError */
export function chatRequest(fields: Fields, model: ServedModel, limits: Limits): ServedRequest {
  const chat = chatFields(fields, model, limits);
  return {
    ...chat,
    whole: (model, answers) => wholeAnswer(chat, model, answers),
    parts: (model, send) => partsOf(chat, model, send),
  };
}

/** Checks the fields of a chat. @throws ApiError */
export function chatFields(
  fields: Fields,
  { loaded: { tokenizer, model } }: ServedModel,
  limits: Limits,
): ChatFields {
  const names = ["max_completion_tokens", "max_tokens"], use = toolUse(fields, tokenizer);
  const sampling = samplingFields(fields, names, {
    tokenizer,
    vocabSize: model.vocabSize,
    ...limits,
    held: use?.held ?? null,
  });
  if (use !== null && use.held === null && sampling.constraint !== null) {
    throw badRequest(
      "an answer that is held to a form cannot call tools: set tool_choice to none or required",
      "tools",
    );
  }
  if (sampling.maxTokens === 0) {
    throw badRequest("max_tokens is 0: there is nothing to answer", "max_tokens");
  }
  const wants = fields.boolean("logprobs", false);
  const top = fields.integer("top_logprobs", [0, limits.maxLogprobs], 0);
  if (top > 0 && !wants) throw badRequest("top_logprobs needs logprobs: true", "top_logprobs");
  const promptTop = fields.has("prompt_logprobs")
    ? fields.integer("prompt_logprobs", [0, limits.maxLogprobs], 0)
    : null;
  const { ids, before } = chatPrompt(fields, tokenizer, limits, use);
  const why = use?.dialect.whyNoTools ?? null;
  return {
    use,
    notes: why === null ? [] : [`tools are shown in a system message: ${why}`],
    task: {
      prompts: [ids],
      reading: use === null
        ? null
        : { stopIds: use.dialect.stopIds, reader: () => readerOf(use, before) },
      sampling: { ...sampling, maxTokens: sampling.maxTokens ?? limits.defaults.maxTokens },
      top: wants ? top : null,
      continuesPrompt: false,
      promptTop,
    },
    stream: streamFields(fields),
  };
}

function wholeAnswer(
  { task, use }: ChatFields,
  model: ServedModel,
  answers: readonly PromptAnswer[],
) {
  const { sampling } = task, { tokenizer } = model.loaded, { promptIds, scored } = answers[0]!;
  const name = tokenNames(tokenizer, sampling.tokensAsIds);
  const choices = answers[0]!.choices.map((choice, index) => ({
    index,
    message: messageOf(choice, use),
    logprobs: task.top === null
      ? null
      : { content: choice.tokens.map((token) => chatLogprob(token, name, tokenizer)) },
    finish_reason: finishReason(choice, use),
    stop_reason: choice.stopReason,
    ...(sampling.returnTokenIds ? { token_ids: choice.ids } : {}),
  }));
  return {
    ...headOf("chatcmpl-", "chat.completion", model),
    choices,
    usage: usageOf(answers),
    ...(sampling.returnTokenIds ? { prompt_token_ids: promptIds } : {}),
    ...(scored === null ? {} : { prompt_logprobs: promptLogprobs(scored, name) }),
  };
}

/** The answer as a message; its text is null where it only calls tools. */
function messageOf({ answer }: Choice, use: ToolUse | null) {
  const { content, reasoning, toolCalls } = answer;
  const message = { role: "assistant", content };
  if (use === null) return message;
  const calls = new ApiCalls(use);
  for (const call of toolCalls) calls.add(wholeCall(call));
  const hasCalls = calls.list.length > 0;
  return {
    ...message,
    content: content === "" && hasCalls ? null : content,
    ...(reasoning === undefined ? {} : { reasoning_content: reasoning }),
    ...(hasCalls ? { tool_calls: calls.list } : {}),
  };
}

type FinishReason = Choice["finishReason"] | "tool_calls";

/** An answer that was cut ended by its length, whatever it calls. */
function finishReason({ finishReason, answer }: Choice, use: ToolUse | null): FinishReason {
  const calls = use !== null && !use.isNamed && answer.toolCalls.length > 0;
  return finishReason === "stop" && calls ? "tool_calls" : finishReason;
}

/** What a chunk says of its choice, beside the text. */
interface ChunkChoice {
  logprobs?: { content: ChatLogprob[] };
  token_ids?: number[];
  finish_reason?: FinishReason;
  stop_reason?: Choice["stopReason"];
}

function partsOf({ task, stream, use }: ChatFields, model: ServedModel, send: Send): Parts {
  const { top, sampling } = task, { tokenizer } = model.loaded;
  const name = tokenNames(tokenizer, sampling.tokensAsIds);
  const chunks = new Chunks(headOf("chatcmpl-", "chat.completion.chunk", model), stream, send);
  const chunk = (index: number, delta: object, choice: ChunkChoice = {}, more = {}) =>
    chunks.add({ index, delta, logprobs: null, finish_reason: null, ...choice }, more);
  const calls = use === null ? [] : Array.from({ length: sampling.n }, () => new ApiCalls(use));
  /** The chunks of a part: one for its text, one for the name of a call and for its arguments. */
  const deltasOf = (index: number, { deltas }: ChoicePart): object[] =>
    deltas.flatMap((delta): object[] => {
      if ("content" in delta) return [delta];
      if ("reasoning" in delta) return [{ reasoning_content: delta.reasoning }];
      const call = calls[index]!.add(delta.call), { name, arguments: args } = delta.call;
      if (call === null) return [];
      const { index: place, id, type } = call;
      const begun = { index: place, id, type, function: { name, arguments: "" } };
      return [
        ...name === undefined ? [] : [{ tool_calls: [begun] }],
        ...args === "" ? [] : [{ tool_calls: [{ index: place, function: { arguments: args } }] }],
      ];
    });
  return {
    begin(_, answer) {
      answer.choices.forEach((_, index) => {
        const asked = index === 0 && sampling.returnTokenIds;
        const ids = asked ? { prompt_token_ids: answer.promptIds } : {};
        chunk(index, { role: "assistant", content: "" }, {}, ids);
      });
    },
    part(_, index, choice, part) {
      const { token } = part,
        deltas = deltasOf(index, part),
        asked = token !== null && {
          ...top === null ? {} : { logprobs: { content: [chatLogprob(token, name, tokenizer)] } },
          ...sampling.returnTokenIds ? { token_ids: [token.id] } : {},
        };
      if (asked && (top !== null || sampling.returnTokenIds)) {
        chunk(index, deltas.shift() ?? { content: "" }, asked);
      }
      for (const delta of deltas) chunk(index, delta);
      if (token !== null) return;
      chunk(index, {}, {
        finish_reason: finishReason(choice, use),
        stop_reason: choice.stopReason,
      });
    },
    end: (answers) => chunks.end(answers),
  };
}
