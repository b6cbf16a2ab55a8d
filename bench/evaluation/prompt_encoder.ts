/**
 * Problems as token ids, and token ids of completions as text: for the rollouts, the evaluations
 * and the supervised warm start of a run, and for benchmarks of models on this machine.
 */
import type { RunConfig } from "../../configs/schema/run_config.ts";
import type { ChatMessage } from "../../core/chat_message.ts";
import { reworded, RgxError, UsageError } from "../../core/errors.ts";
import { type LocalTime, localTime } from "../../core/local_time.ts";
import { SAMPLE_START } from "../../data/empty_source.ts";
import { workedAnswer } from "../../data/worked_answer.ts";
import type { Completion } from "../../models/generation/types.ts";
import { checkVariables } from "../../models/tokenizers/chat_template.ts";
import { type Dialect, dialectOf } from "../../models/tokenizers/dialects/dialect.ts";
import type { Tokenizer } from "../../models/tokenizers/types.ts";
import type { Entry, Preference } from "../../tasks/types.ts";
import {
  type PromptSettings,
  promptTokensKept,
  runPromptSettings,
  settingsFor,
} from "./prompt_settings.ts";
import { promptMessages, promptText } from "./prompt_text.ts";

export interface EncodedPrompt {
  text: string;
  ids: number[];
}

/** What supervised training imitates: a prompt, and what follows it. */
export interface WorkedExample {
  promptIds: readonly number[];
  /** What the model learns to write, and what it reads in between. */
  segments: readonly { from: "model" | "environment"; ids: readonly number[] }[];
}

export function hasChatTemplate(tokenizer: Pick<Tokenizer, "chatVariables">): boolean {
  return tokenizer.chatVariables !== null;
}

/**
 * The encoder that a run's configuration asks for.
 * @param time the time of the run's first start; null = now, if the chat template reads a clock
 */
export function runPrompts(
  tokenizer: Tokenizer,
  config: Pick<RunConfig, "data" | "training">,
  eosIds: readonly number[],
  time: LocalTime | null = null,
): PromptEncoder {
  const settings = runPromptSettings(config);
  const readsClock = tokenizer.chatReadsClock && settings.format === "chat";
  return new PromptEncoder(
    tokenizer,
    { ...settings, ...(readsClock && { prompt_time: time ?? localTime() }) },
    eosIds,
    promptTokensKept(config.training),
  );
}

export class PromptEncoder {
  /** Whether the chat template writes the prompts. */
  readonly #isChat: boolean;

  constructor(
    readonly tokenizer: Tokenizer,
    readonly settings: PromptSettings,
    /** Ids that end a completion. */
    readonly eosIds: readonly number[],
    /** Prompts are cut to this many tokens, their last ones; null = they are not cut. */
    readonly keepTokens: number | null = null,
  ) {
    this.#isChat = settings.format === "chat" && hasChatTemplate(tokenizer);
    checkVariables(
      settings.chat_template_kwargs ?? {},
      this.#isChat ? tokenizer.chatVariables : null,
      "chat_template_kwargs",
    );
  }

  /**
   * @param shots see {@link promptText}; needed where the settings ask for worked examples
   * @param isOwnData whether the problem is of rgx's own tasks, where the settings depend on it
   */
  prompt(entry: Entry, shots: readonly Entry[] = [], isOwnData = true): EncodedPrompt {
    const variables = this.#variables(entry);
    if (entry.templateVariables?.["tools"] != null) located(entry, () => this.#checkTools());
    const template = (messages: ChatMessage[]) =>
      this.tokenizer.applyChatTemplate(messages, variables, this.settings.prompt_time);
    const settings = settingsFor(this.settings, isOwnData), start = entry.metadata[SAMPLE_START];
    if (typeof start === "string") {
      entry = { ...entry, messages: [{ role: "user", content: start }] };
    }
    const text = located(entry, () => {
      const text = promptText(entry, shots, settings, this.#isChat ? template : null);
      if (text !== "") return text;
      throw new UsageError("the chat template makes an empty prompt of these messages", {
        advice: "Correct the template, or name another one: model.chat_template=FILE.",
      });
    });
    const ids = this.#encode(text);
    return { text, ids: this.keepTokens === null ? ids : ids.slice(-this.keepTokens) };
  }

  /**
   * The prompt that a teacher sees, with another question or another conversation. Null: it sees
   * the prompt of the model.
   * @param template `{prompt}` is the question, `{answer}` the answer, and another name a column of
   *   the data; null: the data may have such prompts
   * @throws UsageError for a name that the problem does not have
   */
  teacherPrompt(entry: Entry, template: string | null): EncodedPrompt | null {
    const { messages: _, ...rest } = entry, { teacherPrompt } = entry;
    if (teacherPrompt !== undefined) return this.prompt({ ...rest, ...teacherPrompt });
    if (template === null) return null;
    const filled = (prompt: string) =>
      template.replace(/\{(\w+)\}/g, (whole, name: string) => {
        const value = name === "prompt"
          ? prompt
          : name === "answer"
          ? entry.answer
          : entry.metadata[name];
        if (value != null) return typeof value === "string" ? value : JSON.stringify(value);
        throw new UsageError(
          `teacher.teacher_prompt_template: ${whole} is not in problem ` +
            `${Number(entry.metadata["source_index"]) + 1} of the data`,
          { advice: "{prompt} and {answer} are known, and the columns of a data set." },
        );
      });
    const asked = entry.messages?.findLastIndex(({ role }) => role === "user");
    const messages = entry.messages?.map((message, i) =>
      i === asked ? { ...message, content: filled(message.content) } : message
    );
    return this.prompt({
      ...rest,
      question: filled(entry.question),
      ...(messages === undefined ? {} : { messages }),
    });
  }

  /** A chat template writes the special tokens itself. */
  #encode(text: string): number[] {
    return this.tokenizer.encode(text, { addSpecialTokens: !this.#isChat });
  }

  /**
   * The tokens of a preference. An answer begins at the first token that differs from the tokens of
   * the prompt alone, as in TRL: a token may join the end of the prompt and the beginning of the
   * answer.
   * @throws UsageError for a row that does not have two different answers
   */
  pair(entry: Entry): { promptIds: number[]; chosen: number[]; rejected: number[] } {
    const { preference } = entry;
    checkPreference(entry);
    const { text } = this.prompt(entry), prompt = this.#encode(text);
    const [chosen, rejected] = [preference!.chosen, preference!.rejected]
      .map((answer) => this.#withAnswer(entry, text, answer)) as [number[], number[]];
    const length = Math.min(sharedLength(prompt, chosen), sharedLength(prompt, rejected));
    return {
      promptIds: prompt.slice(this.keepTokens === null ? 0 : -this.keepTokens).slice(0, length),
      chosen: chosen.slice(length),
      rejected: rejected.slice(length),
    };
  }

  /**
   * The tokens of preferences, each cut at the end to `maxLength` tokens as TRL does; null = not
   * cut. One whose prompt leaves no room for an answer is left out.
   * @throws UsageError as `pair`
   */
  pairs(entries: readonly Entry[], maxLength: number | null): ReturnType<PromptEncoder["pair"]>[] {
    return entries.map((entry) => this.pair(entry)).flatMap((pair) => {
      const room = (maxLength ?? Infinity) - pair.promptIds.length;
      if (room <= 0) return [];
      const [chosen, rejected] = [pair.chosen, pair.rejected].map((ids) => ids.slice(0, room));
      return [{ ...pair, chosen: chosen!, rejected: rejected! }];
    });
  }

  /** The tokens of a prompt and an answer, to its end. @param text the prompt's */
  #withAnswer(entry: Entry, text: string, answer: Preference["chosen"]): number[] {
    if (typeof answer !== "string" && answer.some(usesTools)) this.#checkTools();
    if (typeof answer !== "string" && this.#isChat) {
      const variables = this.#variables(entry);
      const asked = promptMessages(entry, [], settingsFor(this.settings, true));
      const whole = [...asked, ...answer], time = this.settings.prompt_time;
      return this.#encode(this.tokenizer.applyChatTemplate(whole, variables, time, "message")!);
    }
    const ids = this.#encode(text + answerText(answer)), end = this.tokenizer.eosId;
    const eos = end ?? this.eosIds[0];
    return eos === undefined || ids.at(-1) === eos ? ids : [...ids, eos];
  }

  /** How the model calls tools and goes on with a conversation; null: prompts are plain text. */
  dialect(format: string): Dialect | null {
    return this.#isChat ? dialectOf(this.tokenizer, format) : null;
  }

  /**
   * The tokens between an answer and the next one: the reply to the answer, as the chat template
   * writes it, or as lines of plain text.
   * @param entry whose prompt began the dialogue
   */
  bridge(messages: readonly ChatMessage[], entry: Entry, format: string): readonly number[] {
    const dialect = this.dialect(format);
    if (dialect !== null) return dialect.bridge(messages, this.#variables(entry));
    const text = messages.map(({ content }) => content).join("\n");
    return this.tokenizer.encode(`\n${text}\n`, { addSpecialTokens: false });
  }

  #variables({ templateVariables }: Entry): Readonly<Record<string, unknown>> {
    return { ...this.settings.chat_template_kwargs, ...templateVariables };
  }

  /** Notes for the user about the form of the prompts. */
  notes(): string[] {
    if (this.#isChat || this.settings.system_prompt === null) return [];
    const why = this.settings.format === "chat" ? "the tokenizer has no chat template: " : "";
    return [`${why}prompts are plain text, the system prompt comes before the question`];
  }

  /** What a user should know about the turns of dialogues. */
  dialogueNotes(format: string): string[] {
    const drops = this.dialect(format)?.dropsReasoning(this.settings.chat_template_kwargs);
    return drops !== true ? [] : [
      "the chat template leaves out the thoughts of earlier answers; in dialogues they stay, " +
      "since ids are made once",
    ];
  }

  /** @throws UsageError when the chat template does not show tools */
  #checkTools(): void {
    const dialect = this.dialect("auto");
    const why = dialect === null ? "the model is prompted with plain text" : dialect.whyNotShown;
    if (why === null) return;
    throw new UsageError(`tools cannot be shown to this model: ${why}`, {
      advice: "Take a model whose chat template has tools, or name a template: " +
        "model.chat_template=FILE.",
    });
  }

  /**
   * A worked answer with its prompt.
   * @throws UsageError as `workedParts`
   */
  worked(entry: Entry, allAnswers: boolean): WorkedExample {
    const { asked, segments } = this.workedParts(entry, allAnswers);
    return { promptIds: this.prompt(asked).ids, segments };
  }

  /**
   * A worked answer, and the problem before it. Of several messages those of the assistant are the
   * model's, and the others are context.
   * @param allAnswers whether earlier answers belong to it, where one column has all messages
   * @throws UsageError for calls of tools that the chat template does not show
   */
  workedParts(
    entry: Entry,
    allAnswers: boolean,
  ): Pick<WorkedExample, "segments"> & { asked: Entry } {
    const { messages = [], answerMessages, isOneColumn } = entry;
    const first = messages.findIndex(({ role }) => role === "assistant");
    const hasEarlier = allAnswers && isOneColumn === true && first > 0;
    if (answerMessages === undefined && !hasEarlier) {
      return { asked: entry, segments: [{ from: "model", ids: this.workedAnswer(entry) }] };
    }
    const last = answerMessages ??
      [{ role: "assistant", content: workedAnswer(entry, this.settings.system_prompt) }];
    const answers = hasEarlier ? [...messages.slice(first), ...last] : last;
    const asked = hasEarlier ? { ...entry, messages: messages.slice(0, first) } : entry;
    return located(entry, () => {
      if ([...messages, ...answers].some(usesTools)) this.#checkTools();
      return { asked, segments: this.#segments(asked, answers) };
    });
  }

  /** The tokens of answers, and of the messages between them. */
  #segments(asked: Entry, answers: readonly ChatMessage[]): WorkedExample["segments"] {
    const dialect = this.dialect("auto"), variables = this.#variables(asked);
    if (dialect === null) {
      throw new UsageError("an answer of several messages needs a chat template", {
        advice: "Take a model that has one, or name a template: model.chat_template=FILE.",
      });
    }
    const before = promptMessages(asked, [], settingsFor(this.settings, true));
    const segments: WorkedExample["segments"][number][] = [];
    for (let i = 0; i < answers.length;) {
      const answer = answers[i]!,
        next = answers.findIndex((m, k) => k > i && m.role === "assistant");
      const replies = answers.slice(i + 1, next < 0 ? answers.length : next);
      if (replies.length === 0 && next > 0) {
        throw new UsageError("an assistant's message follows another one", {
          advice: "Join the two, or leave out sft.assistant_only_loss.",
        });
      }
      const ids = dialect.answerIds(before, answer, variables, this.settings.prompt_time);
      segments.push({ from: "model", ids });
      if (replies.length > 0) {
        const named = replies.map((reply, k) => withName(reply, answer, k));
        segments.push({ from: "environment", ids: dialect.bridge(named, variables) });
      }
      before.push(answer, ...replies);
      i += 1 + replies.length;
    }
    return segments;
  }

  /** The worked answer as a completion: its tokens and the end token. */
  workedAnswer(entry: Entry): number[] {
    const ids = this.tokenizer.encode(workedAnswer(entry, this.settings.system_prompt), {
      addSpecialTokens: false,
    });
    const eos = this.tokenizer.eosId ?? this.eosIds[0];
    return eos === undefined ? ids : [...ids, eos];
  }

  /** A completion's text, and whether it was cut off before its end. */
  read({ ids, finishReason }: Pick<Completion, "ids" | "finishReason">): {
    text: string;
    truncated: boolean;
  } {
    return { text: this.text(ids), truncated: this.truncated(ids, finishReason === "stop") };
  }

  /**
   * Whether a completion was cut off: it ends neither with an end token nor with a padding token.
   * @param stopped it is known to have ended, for example with a stop string
   */
  truncated(ids: readonly number[], stopped: boolean = false): boolean {
    if (stopped) return false;
    const last = ids.at(-1);
    return last === undefined || !(this.eosIds.includes(last) || last === this.tokenizer.padId);
  }

  text(ids: readonly number[]): string {
    return this.tokenizer.decode(ids, { skipSpecialTokens: true });
  }

  /**
   * The number of tokens of the longest prompt.
   * @throws UsageError when prompts have more than `limit` tokens; it says how many of them
   */
  checkLengths(entries: Iterable<Entry>, limit: number): number {
    let total = 0, tooLong = 0, longest = 0;
    for (const entry of entries) {
      const { length } = this.prompt(entry).ids;
      total++;
      if (length > limit) tooLong++;
      longest = Math.max(longest, length);
    }
    if (tooLong > 0) {
      throw new UsageError(
        `training.max_prompt_length: ${tooLong} of ${total} prompts have more than ${limit} ` +
          `tokens (the longest has ${longest})`,
        { advice: "Raise max_prompt_length, or make the task's problems shorter." },
      );
    }
    return longest;
  }
}

/** @throws UsageError for a row without two different answers, which names its place */
export function checkPreference({ preference, metadata }: Entry): void {
  if (preference === undefined) {
    const row = Number(metadata["source_index"]) + 1;
    throw new UsageError(`row ${row} of the data has no two answers`, {
      advice: "rgx dpo needs the columns prompt, chosen and rejected: texts, or lists of messages.",
    });
  }
  const [chosen, rejected] = [preference.chosen, preference.rejected].map(answerText);
  const empty = chosen!.trim() === "" ? "chosen" : rejected!.trim() === "" ? "rejected" : null;
  const wrong = empty !== null
    ? `${empty} is empty, expected an answer`
    : chosen === rejected
    ? "chosen and rejected are equal, expected two different answers"
    : null;
  if (wrong === null) return;
  throw new UsageError(`${preference.place}: ${wrong}`, {
    advice: "Leave such rows out: they say nothing about which answer is better.",
  });
}

/** The result of a call with the name of its tool, which some templates show. */
function withName(reply: ChatMessage, answer: ChatMessage, index: number): ChatMessage {
  const calls = answer.tool_calls ?? [];
  if (reply.role !== "tool" || reply.name !== undefined) return reply;
  const call = calls.find(({ id }) => id !== undefined && id === reply.tool_call_id) ??
    calls[index];
  return call === undefined ? reply : { ...reply, name: call.function.name };
}

function usesTools({ role, tool_calls }: ChatMessage): boolean {
  return role === "tool" || tool_calls !== undefined;
}

/** The text of an answer without a template. */
function answerText(answer: Preference["chosen"]): string {
  if (typeof answer === "string") return answer;
  const calls = ({ tool_calls }: ChatMessage) => tool_calls ? JSON.stringify(tool_calls) : "";
  return answer.map((message) => message.content + calls(message)).join("\n");
}

/** The number of tokens that both begin with. */
function sharedLength(a: readonly number[], b: readonly number[]): number {
  const other = a.findIndex((id, i) => id !== b[i]);
  return other < 0 ? a.length : other;
}

/** Does work on an entry; an error about a conversation of a data set names its number. */
function located<T>({ messages, metadata }: Entry, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof RgxError) || messages === undefined) throw error;
    const index = metadata["source_index"];
    const where = typeof index === "number" ? `problem ${index + 1} of the data: ` : "";
    throw reworded(error, where + error.message);
  }
}
