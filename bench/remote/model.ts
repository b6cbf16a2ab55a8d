/**
 * A model on an OpenAI-compatible server. Every problem is a separate request; many run at the same
 * time. One request asks for all samples of a problem, where the server can give several.
 */
import { Interrupted, RgxError, UsageError } from "../../core/errors.ts";
import { fnv1a } from "../../core/philox.ts";
import { type PromptSettings, settingsFor } from "../evaluation/prompt_settings.ts";
import { promptMessages, promptText } from "../evaluation/prompt_text.ts";
import type { Answerer, OnAnswer, Question, RawAnswer } from "../answerer.ts";
import type { ModelRequest } from "../plan/model_request.ts";
import type { Body } from "../../core/remote/fields.ts";
import { Refused } from "../../core/remote/refusal.ts";
import type { ChatReply } from "../../core/remote/reply.ts";
import type { RemoteServer } from "../../core/remote/server.ts";

/** Milliseconds between two checks whether the benchmark should stop. */
const POLL_MS = 100;

export class RemoteModel implements Answerer {
  readonly #prompt: PromptSettings;
  readonly #model: string;
  /** Whether the server gives as many choices as were asked for; null = not tried yet. */
  #givesSeveral: boolean | null = null;
  #hasAnswered = false;

  constructor(readonly server: RemoteServer, readonly request: ModelRequest) {
    const { where, settings } = request;
    if (where.kind !== "remote") throw new TypeError(`${request.name} is not on a server`);
    this.#model = where.model;
    this.#prompt = settings.prompt;
  }

  async answer(
    questions: readonly Question[],
    onAnswer: OnAnswer,
    shouldStop: () => boolean,
  ): Promise<void> {
    const timer = setInterval(() => shouldStop() && this.server.stop(), POLL_MS);
    let failure: unknown = null;
    const pending = [...questions].reverse();
    /** If the server does not give several samples together, they are asked one by one. */
    const apart = (question: Question, samples: readonly number[]) => {
      for (const sample of samples.toReversed()) pending.push({ ...question, samples: [sample] });
    };
    const take = async (question: Question) => {
      const { samples } = question;
      if (samples.length > 1 && this.#givesSeveral === false) return apart(question, samples);
      apart(question, await this.#answerOne(question, onAnswer));
    };
    const work = async () => {
      for (let next = pending.pop(); next !== undefined && failure === null; next = pending.pop()) {
        try {
          await take(next);
        } catch (error) {
          failure ??= error;
        }
      }
    };
    try {
      // The first problem is asked alone. It shows which fields the server accepts, and whether it
      // gives several samples.
      const first = pending.pop();
      if (first !== undefined) await take(first);
      const { max } = this.server.limiter;
      // More workers than the limit: while some wait before they send again, others use their
      // places.
      const length = max === 1 ? 1 : 2 * max;
      await Promise.all(Array.from({ length }, work));
    } finally {
      clearInterval(timer);
    }
    if (failure !== null) throw failure;
  }

  /** @returns the samples that must still be asked for, one by one */
  async #answerOne(question: Question, onAnswer: OnAnswer): Promise<readonly number[]> {
    const { samples } = question, n = samples.length;
    const replies = await this.#ask(question, samples[0]!, n);
    const isError = "error" in replies;
    if (n > 1) this.#givesSeveral ??= !isError && replies.length >= n;
    // The first error may be about the number of samples.
    if (isError && n > 1 && !this.#givesSeveral) return samples;
    const answers = isError
      ? samples.map(() => ({ ...EMPTY, device: this.server.url, error: replies.error }))
      : replies.slice(0, n);
    for (const [i, answer] of answers.entries()) onAnswer(question, samples[i]!, answer);
    return samples.slice(answers.length);
  }

  /** @throws Interrupted; Refused when the server will refuse all other questions too */
  async #ask(
    question: Question,
    sample: number,
    n: number,
  ): Promise<RawAnswer[] | { error: string }> {
    const { set, index } = question,
      path = this.server.options.completions ? "/completions" : "/chat/completions";
    try {
      const body = this.#body(question, sample, n);
      const reply = await this.server.ask(path, body, [set.label, index, sample]);
      this.#hasAnswered = true;
      return rawAnswers(reply, this.server.url, this.request.settings.sampling.stop ?? []);
    } catch (error) {
      // A server that has answered before forbids only this question, perhaps as harmful.
      if (error instanceof Refused && !(error.status === 403 && this.#hasAnswered)) {
        const hint = this.server.nearestModel(this.#model);
        throw hint === "" ? error : new Refused(`${error.message}${hint}`, error.status);
      }
      if (error instanceof RgxError && !(error instanceof Interrupted)) {
        return { error: error.message };
      }
      throw error;
    }
  }

  #body({ set, index }: Question, sample: number, n: number): Body {
    const { sampling, seed } = this.request.settings, entry = set.entries[index]!;
    const prompt = settingsFor(this.#prompt, set.isOwn);
    const { completions } = this.server.options,
      messages = promptMessages(entry, set.shots, prompt);
    if (!completions && messages.at(-1)!.role === "assistant") {
      throw new UsageError(
        "the prompt ends with an assistant's message, which a server does not continue",
        { advice: "Ask a model on this machine, or end the conversation with a user's message." },
      );
    }
    const variables = { ...prompt.chat_template_kwargs, ...entry.templateVariables };
    const { provider } = this.server.options;
    return {
      model: this.#model,
      ...(completions ? { prompt: promptText(entry, set.shots, prompt, null) } : { messages }),
      ...(!completions && Object.keys(variables).length > 0 && {
        chat_template_kwargs: variables,
      }),
      temperature: sampling.temperature,
      top_p: sampling.top_p,
      max_tokens: sampling.max_new_tokens,
      seed: fnv1a(`${seed} ${set.label} ${index} ${sample}`) >>> 1,
      ...(n > 1 && { n }),
      ...(sampling.top_k > 0 && { top_k: sampling.top_k }),
      ...(sampling.min_p > 0 && { min_p: sampling.min_p }),
      ...(sampling.repetition_penalty !== 1 && { repetition_penalty: sampling.repetition_penalty }),
      ...((sampling.stop ?? []).length > 0 && { stop: sampling.stop }),
      ...(provider !== undefined && { provider: { order: [provider], allow_fallbacks: false } }),
      stream: true,
      stream_options: { include_usage: true },
    };
  }
}

const EMPTY = {
  completion: "",
  truncated: false,
  completion_tokens: 0,
  prompt_tokens: 0,
};

/** The server counts the tokens of all choices together; they are divided evenly. */
function rawAnswers(
  { choices, promptTokens, completionTokens }: ChatReply,
  device: string,
  stops: readonly string[],
): RawAnswer[] {
  const each = Math.floor(completionTokens / choices.length);
  return choices.map(({ text, reasoning, finishReason }, i) => ({
    completion: beforeStop(text, stops),
    truncated: finishReason === "length",
    completion_tokens: i === 0 ? completionTokens - each * (choices.length - 1) : each,
    prompt_tokens: i === 0 ? promptTokens : 0,
    device,
    ...(reasoning !== null && { reasoning }),
  }));
}

/** Cuts at the first stop text: some servers ignore stop texts, or leave them in. */
function beforeStop(text: string, stops: readonly string[]): string {
  const places = stops.map((stop) => text.indexOf(stop)).filter((at) => at >= 0);
  return text.slice(0, Math.min(text.length, ...places));
}
