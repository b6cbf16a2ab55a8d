/** POST /v1/chat/completions. */
import { answerAll, checkPrompts, type Desk, type PromptAnswer, type Task } from "./answer.ts";
import { badRequest } from "./api_error.ts";
import type { Choice } from "./choice.ts";
import type { Send } from "./event_stream.ts";
import type { Fields } from "./fields.ts";
import { type ChatLogprob, chatLogprob, promptLogprobs, tokenNames } from "./logprobs_json.ts";
import type { ServedModel } from "./model_host.ts";
import { chatTokens, type Limits, truncation } from "./prompt_tokens.ts";
import { samplingFields } from "./sampling_fields.ts";
import { chunkUsage, type StreamFields, streamFields, usageOf } from "./usage.ts";

export interface ChatRequest {
  task: Task;
  stream: StreamFields;
}

/** Checks a body. @throws ApiError */
export function chatRequest(
  fields: Fields,
  { loaded: { tokenizer, model } }: ServedModel,
  limits: Limits,
): ChatRequest {
  const names = ["max_completion_tokens", "max_tokens"];
  const sampling = samplingFields(fields, names, {
    tokenizer,
    vocabSize: model.vocabSize,
    ...limits,
  });
  if (sampling.maxTokens === 0) {
    throw badRequest("max_tokens is 0: there is nothing to answer", "max_tokens");
  }
  const wants = fields.boolean("logprobs", false);
  const top = fields.integer("top_logprobs", [0, limits.maxLogprobs], 0);
  if (top > 0 && !wants) throw badRequest("top_logprobs needs logprobs: true", "top_logprobs");
  const promptTop = fields.has("prompt_logprobs")
    ? fields.integer("prompt_logprobs", [0, limits.maxLogprobs], 0)
    : null;
  return {
    task: {
      prompts: [truncation(fields, limits)(chatTokens(fields, tokenizer, limits))],
      sampling: { ...sampling, maxTokens: sampling.maxTokens ?? limits.defaults.maxTokens },
      top: wants ? top : null,
      continuesPrompt: false,
      promptTop,
    },
    stream: streamFields(fields),
  };
}

function headOf(model: ServedModel, object: string) {
  const id = `chatcmpl-${crypto.randomUUID().replaceAll("-", "")}`;
  return { id, object, created: Math.floor(Date.now() / 1000), model: model.id };
}

export async function chat(
  desk: Desk,
  model: ServedModel,
  { task }: ChatRequest,
  signal: AbortSignal,
) {
  checkPrompts(desk, task.prompts);
  const answers = await answerAll(desk, model, task, signal), { promptIds, scored } = answers[0]!;
  const { sampling } = task, { tokenizer } = model.loaded;
  const name = tokenNames(tokenizer, sampling.tokensAsIds);
  const choices = answers[0]!.choices.map((choice, index) => ({
    index,
    message: { role: "assistant", content: choice.text },
    logprobs: task.top === null
      ? null
      : { content: choice.tokens.map((token) => chatLogprob(token, name, tokenizer)) },
    finish_reason: choice.finishReason,
    stop_reason: choice.stopReason,
    ...(sampling.returnTokenIds ? { token_ids: choice.ids } : {}),
  }));
  return {
    ...headOf(model, "chat.completion"),
    choices,
    usage: usageOf(answers),
    ...(sampling.returnTokenIds ? { prompt_token_ids: promptIds } : {}),
    ...(scored === null ? {} : { prompt_logprobs: promptLogprobs(scored, name) }),
  };
}

/** What a chunk says of its choice, beside the text. */
interface ChunkChoice {
  logprobs?: { content: ChatLogprob[] };
  token_ids?: number[];
  finish_reason?: Choice["finishReason"];
  stop_reason?: Choice["stopReason"];
}

/** Sends the answer while it comes. */
export async function streamChat(
  desk: Desk,
  model: ServedModel,
  { task, stream }: ChatRequest,
  signal: AbortSignal,
  send: Send,
): Promise<void> {
  checkPrompts(desk, task.prompts);
  const head = headOf(model, "chat.completion.chunk"), { top, sampling } = task;
  const { tokenizer } = model.loaded, name = tokenNames(tokenizer, sampling.tokensAsIds);
  const running: PromptAnswer[] = [];
  const chunk = (index: number, delta: object, choice: ChunkChoice = {}, more = {}) =>
    send({
      ...head,
      choices: [{ index, delta, logprobs: null, finish_reason: null, ...choice }],
      ...chunkUsage(stream, running),
      ...more,
    });
  const answers = await answerAll(desk, model, task, signal, {
    begin(_, answer) {
      running.push(answer);
      answer.choices.forEach((_, index) => {
        const asked = index === 0 && sampling.returnTokenIds;
        const ids = asked ? { prompt_token_ids: answer.promptIds } : {};
        chunk(index, { role: "assistant", content: "" }, {}, ids);
      });
    },
    part(_, index, choice, { text, token }) {
      if (token === null) {
        if (text !== "") chunk(index, { content: text });
        const { finishReason: finish_reason, stopReason: stop_reason } = choice;
        chunk(index, {}, { finish_reason, stop_reason });
      } else if (text !== "" || top !== null || sampling.returnTokenIds) {
        chunk(index, { content: text }, {
          ...top === null ? {} : { logprobs: { content: [chatLogprob(token, name, tokenizer)] } },
          ...sampling.returnTokenIds ? { token_ids: [token.id] } : {},
        });
      }
    },
  });
  if (stream.includeUsage) send({ ...head, choices: [], usage: usageOf(answers) });
}
