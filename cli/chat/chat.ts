/**
 * `rgx chat`: a conversation with a model. Answers appear while they are computed. Ctrl-C ends the
 * answer; the part that was given stays in the conversation. The model's cache keeps the
 * conversation, so each turn computes only what is new.
 */
import type { SamplingSettings } from "../../bench/evaluation/sampling.ts";
import type { ChatMessage, Tool, ToolCall } from "../../core/chat_message.ts";
import { EXIT, messageOf, RgxError, UsageError } from "../../core/errors.ts";
import { didYouMean } from "../../core/suggest.ts";
import { systemPromptText } from "../../data/prompt.ts";
import { StopText } from "../../models/generation/sampling/stop_strings.ts";
import { checkVariables } from "../../models/tokenizers/chat_template.ts";
import type { Tokenizer } from "../../models/tokenizers/types.ts";
import { ApiError } from "../../serve/api_error.ts";
import { ModelHost, type ServedModel } from "../../serve/model_host.ts";
import { type Flags, templateValues } from "../flags.ts";
import { LoadProgress } from "../models/load_progress.ts";
import { storageOf } from "../models/model_input.ts";
import { openDevice } from "../open_device.ts";
import { labelled, log, paint, write } from "../terminal/terminal.ts";
import type { AnswerDelta, CallFault } from "../../models/tokenizers/dialects/dialect.ts";
import { ChatTools } from "./chat_tools.ts";
import { type LineSource, nextMessage, stdinLines } from "./line_source.ts";
import type { CHAT } from "../flag_tables.ts";

type ChatFlags = Flags<typeof CHAT>;

/** Characters of a call or its result that are shown. */
const MAX_SHOWN = 400;

/** Answers in a row that call tools. */
const MAX_ROUNDS = 16;

const HELP = `/reset               forget the conversation
/again               another answer to the last message
/system TEXT         begin anew with this system message (/system alone: without one)
/adapter NAME        go on with another adapter: a name of --adapter, a folder, or off
/set KEY VALUE       change how tokens are sampled (/set alone: show it)
/history             the messages so far
/exit                end (or Ctrl-D)
A line that ends with \\ goes on on the next one. Ctrl-C ends an answer.`;

export async function chat(path: string, flags: ChatFlags): Promise<number> {
  const weights = storageOf(flags), { activations, adapter: given } = flags;
  const adapters = new Map(given.map(namedAdapter));
  const device = await openDevice(flags), progress = new LoadProgress();
  try {
    const host = await ModelHost.open(path, device, {
      weights,
      onLoad: progress.on,
      maxSequences: 1,
      ...(activations === undefined ? {} : { activations }),
      maxModelLength: flags.maxModelLen,
      clipsLength: true,
    });
    let tools: ChatTools | null = null;
    try {
      progress.close();
      tools = await ChatTools.open(flags.tools, host.base.loaded.tokenizer);
      return await new Chat(host, adapters, flags, stdinLines(), tools).run();
    } finally {
      await tools?.close();
      host.close();
    }
  } finally {
    progress.close();
    device.close();
  }
}

/** NAME=FOLDER, or a folder, which is then also the name. */
function namedAdapter(text: string): [name: string, folder: string] {
  const [, name = text, folder = text] = /^([^=/]+)=(.+)$/.exec(text) ?? [];
  return [name, folder];
}

/** One conversation from its first line to its end. */
export class Chat {
  readonly #sampling: ChatSampling;
  readonly #conversation: Conversation;
  /** Ends the answer that is being computed. */
  #answering: AbortController | null = null;
  /** The adapter in use; null = the model as it was named. */
  #adapter: string | null = null;

  constructor(
    private readonly host: ModelHost,
    private readonly adapters: ReadonlyMap<string, string>,
    flags: ChatFlags,
    private readonly source: LineSource,
    private readonly tools: ChatTools | null,
  ) {
    const { temperature, seed } = flags;
    this.#sampling = {
      temperature,
      top_p: flags.topP,
      top_k: flags.topK,
      min_p: flags.minP,
      repetition_penalty: flags.repetitionPenalty,
      max_new_tokens: flags.maxNewTokens,
      seed,
    };
    this.#conversation = new Conversation(
      host.base.loaded.tokenizer,
      flags.system === undefined ? null : systemPromptText(flags.system),
      templateValues(flags.chatTemplateKwargs),
      tools?.shown,
    );
  }

  /** @returns the exit code */
  async run(): Promise<number> {
    const { source, host } = this;
    const onSignal = () => {
      if (this.#answering === null) Deno.exit(EXIT.sigint);
      this.#answering.abort();
    };
    Deno.addSignalListener("SIGINT", onSignal);
    try {
      for (const name of [...this.adapters.keys()].slice(0, 1)) await this.#useAdapter(name);
      if (!this.#conversation.hasTemplate) {
        log("note: the model has no chat template: each message is continued as plain text");
      }
      if (source.isTerminal) {
        const { id } = host.base, { maxModelLength } = host;
        const names = this.tools?.shown.map((tool) => tool.function.name) ?? [];
        const has = names.length === 0 ? "" : `; tools: ${names.join(", ")}`;
        const text = `${id}, ${maxModelLength} tokens of context${has}; /help lists the commands`;
        log(paint("dim", text));
      }
      return await this.#loop();
    } finally {
      Deno.removeSignalListener("SIGINT", onSignal);
    }
  }

  async #loop(): Promise<number> {
    let interrupts = 0, failed = false;
    for (;;) {
      const typed = await nextMessage(this.source, paint("cyan", "> "));
      if (typed === "end") break;
      if (typed === "interrupt") {
        if (++interrupts > 1) return EXIT.sigint;
        log(paint("dim", "Ctrl-C again, Ctrl-D or /exit ends the chat"));
        continue;
      }
      interrupts = 0;
      const { line } = typed;
      if (line.trim() === "") continue;
      if (line.trim() === "/exit") break;
      try {
        if (line.startsWith("/")) await this.#command(line);
        else await this.#turn(line);
      } catch (error) {
        if (!(error instanceof RgxError || error instanceof ApiError)) throw error;
        failed = true;
        log(labelled("red", "error:", messageOf(error)));
        if (error instanceof RgxError && error.advice !== undefined) log(error.advice);
      }
    }
    // The exit code tells a script that a line of its input failed; a person has seen the error.
    return failed && !this.source.isTerminal ? EXIT.failure : EXIT.ok;
  }

  async #command(line: string): Promise<void> {
    const [, name = "", rest = ""] = /^\/(\S*)\s*(.*)$/s.exec(line) ?? [];
    const conversation = this.#conversation;
    switch (name) {
      case "help":
        return log(HELP);
      case "reset":
        conversation.clear();
        return log("the conversation is empty");
      case "again":
        if (!conversation.again()) throw new UsageError("/again: there is no answer yet");
        return await this.#turn(null);
      case "system":
        conversation.system = systemPromptText(rest.trim());
        return log(rest.trim() === "" ? "no system message" : "a new conversation begins");
      case "adapter":
        return await this.#useAdapter(rest.trim());
      case "set": {
        const [key = "", ...value] = rest.trim().split(/[\s=]+/);
        if (key !== "") setSampling(this.#sampling, key, value.join(" "));
        return log(samplingText(this.#sampling));
      }
      case "history":
        for (const { role, content, tool_calls: calls = [] } of conversation.messages) {
          if (content !== "" || calls.length === 0) log(`[${role}] ${content}`);
          for (const call of calls) log(`[${role}] ${callText(call)}`);
        }
        return;
      default:
        throw new UsageError(`/${name}: no such command`, {
          advice: "/help lists them. A message that begins with / has a space before it.",
        });
    }
  }

  /** Goes on with an adapter, which is loaded if it is new. */
  async #useAdapter(name: string): Promise<void> {
    const { host, adapters } = this;
    if (name === "") {
      const known = [...new Set([...adapters.keys(), ...host.models.slice(1).map(({ id }) => id)])];
      const list = known.map((one) => one === this.#adapter ? `${one} (in use)` : one);
      return log(list.length === 0 ? "no adapters: /adapter FOLDER" : list.join("\n"));
    }
    if (name === "off") this.#adapter = null;
    else {
      if (!host.has(name)) await host.load(name, adapters.get(name) ?? name);
      this.#adapter = name;
    }
    log(name === "off" ? "without an adapter" : `with the adapter ${name}`);
  }

  /** Answers a message, and runs the tools that the model calls until it calls none. */
  async #turn(message: string | null): Promise<void> {
    let calls = await this.#answer(message);
    for (let round = 0; calls.length > 0; round++) {
      if (round === MAX_ROUNDS) return log(`note: no more than ${MAX_ROUNDS} answers with calls`);
      const results: ChatMessage[] = [];
      for (const call of calls) {
        log(paint("dim", oneLine(`→ ${callText(call)}`)));
        const result = await this.tools!.run(call);
        log(paint("dim", oneLine(`← ${result.content}`)));
        results.push(result);
      }
      this.#conversation.returned(results);
      calls = await this.#answer(null);
    }
  }

  /**
   * Computes and shows the answer to a message.
   * @param message null = to the last one
   * @returns the calls of tools in it
   */
  async #answer(message: string | null): Promise<ToolCall[]> {
    const { host } = this, conversation = this.#conversation, sampling = this.#sampling;
    const { promptIds, prompt, answer } = conversation.ask(message), { tools } = this;
    const reader = tools?.read(prompt) ?? null;
    const room = host.maxModelLength - promptIds.length;
    if (promptIds.length === 0 || room < 1) {
      conversation.unanswered();
      throw new UsageError(
        promptIds.length === 0
          ? "the message is empty"
          : `the conversation has ${promptIds.length} tokens, the context ${host.maxModelLength}`,
        { advice: "/reset forgets the conversation; --max-model-len gives more room." },
      );
    }
    const control = this.#answering = new AbortController();
    let text = "", tokens: number[] = [], calls: ToolCall[] = [], faults: readonly CallFault[] = [];
    try {
      await host.using(this.#adapter ?? undefined, async (model: ServedModel) => {
        const { tokenizer, eosIds: ownEnds } = model.loaded, shown = new StopText([]);
        const eosIds = [...new Set([...ownEnds, ...tools?.dialect.stopIds ?? []])];
        const decoded = () => {
          const hasEnd = reader === null && eosIds.includes(tokens.at(-1)!);
          const ids = hasEnd ? tokens.slice(0, -1) : tokens;
          return tokenizer.decode(ids, { skipSpecialTokens: reader === null });
        };
        const say = (part: string) => {
          text += part;
          write(part);
        };
        const show = (part: string) => {
          if (reader === null) say(part);
          else reader.push(part).forEach(showDelta);
        };
        let thinks = false;
        const showDelta = (delta: AnswerDelta) => {
          const isThought = "reasoning" in delta;
          if (thinks && !isThought) write("\n");
          thinks = isThought && this.source.isTerminal;
          if ("content" in delta) say(delta.content);
          else if (thinks && isThought) write(paint("dim", delta.reasoning));
        };
        try {
          await host.generate(model, {
            promptId: answer,
            promptIds,
            n: 1,
            signal: control.signal,
            sampling: {
              maxNewTokens: Math.min(sampling.max_new_tokens, room),
              temperature: sampling.temperature,
              topP: sampling.top_p,
              topK: sampling.top_k,
              minP: sampling.min_p,
              repetitionPenalty: sampling.repetition_penalty,
              seed: sampling.seed,
              eosIds,
            },
            onToken: (_, token) => {
              tokens = [...tokens, token];
              show(shown.push(decoded()));
            },
          });
          show(shown.end(decoded()));
          reader?.end().forEach(showDelta);
          // A call that is cut off is not run.
          const isWhole = eosIds.includes(tokens.at(-1)!);
          if (reader !== null && isWhole) calls = tools!.callsOf(reader);
          faults = reader?.answer.errors ?? [];
        } catch (error) {
          if (!control.signal.aborted) throw error;
          write(" …");
        }
        if (text !== "" || calls.length === 0) write("\n");
      });
      conversation.answered(text, calls);
      for (const { message } of faults) log(`note: a call that is not run: ${oneLine(message)}`);
      if (tokens.length >= room) log("note: the context is full; /reset forgets the conversation");
      return calls;
    } catch (error) {
      conversation.unanswered();
      throw error;
    } finally {
      this.#answering = null;
    }
  }
}

/** What is shown of a long text: the model reads all of it. */
function oneLine(text: string): string {
  const line = text.replaceAll(/\s+/g, " ");
  return line.length > MAX_SHOWN
    ? `${line.slice(0, MAX_SHOWN)}… (${text.length} characters)`
    : line;
}

/** A call as a person reads it. */
function callText({ function: { name, arguments: args } }: ToolCall): string {
  return `${name}(${JSON.stringify(args)})`;
}

type Drawn = "temperature" | "top_p" | "top_k" | "min_p" | "repetition_penalty" | "max_new_tokens";

/** The settings of an answer that `/set` changes. */
export interface ChatSampling extends Pick<SamplingSettings, Drawn> {
  seed: number;
}

/** Range of each key: [lowest, highest, only whole numbers?, is the lowest excluded?]. */
const RANGES: Record<keyof ChatSampling, readonly [number, number, boolean, boolean]> = {
  temperature: [0, 100, false, false],
  top_p: [0, 1, false, true],
  top_k: [0, Number.MAX_SAFE_INTEGER, true, false],
  min_p: [0, 1, false, false],
  repetition_penalty: [0, 100, false, true],
  max_new_tokens: [1, 2 ** 20 - 1, true, false],
  seed: [0, Number.MAX_SAFE_INTEGER, true, false],
};

/** Sets a key from its text. @throws UsageError that names the keys, or the range */
export function setSampling(sampling: ChatSampling, name: string, text: string): void {
  const names = Object.keys(RANGES), key = name.replaceAll("-", "_");
  if (!names.includes(key)) {
    throw new UsageError(`/set ${name}: no such key${didYouMean(key, names)}`, {
      advice: `The keys are ${names.join(", ")}.`,
    });
  }
  const [min, max, isWhole, isAbove] = RANGES[key as keyof ChatSampling], value = Number(text);
  const isRight = text.trim() !== "" && value >= min && value <= max &&
    (!isWhole || Number.isInteger(value)) && !(isAbove && value === min);
  if (!isRight) {
    const kind = isWhole ? "an integer" : "a number";
    const low = isAbove ? `above ${min}` : `from ${min}`;
    const high = max === Number.MAX_SAFE_INTEGER ? "on" : `to ${max}`;
    throw new UsageError(`/set ${key} ${text}: expected ${kind} ${low} ${high}`);
  }
  sampling[key as keyof ChatSampling] = value;
}

/** All keys and their values on one line. */
function samplingText(sampling: ChatSampling): string {
  return Object.entries(sampling).map(([name, value]) => `${name} ${value}`).join("  ");
}

export class Conversation {
  #system: string | null;
  #turns: ChatMessage[] = [];
  /** Number of answers so far: each answer draws from random numbers of its own. */
  #answers = 0;

  /**
   * @param variables values for the chat template
   * @throws UsageError for values that the template does not read, or a system message without one
   */
  constructor(
    private readonly tokenizer: Tokenizer,
    system: string | null,
    private readonly variables: Readonly<Record<string, unknown>> = {},
    private readonly tools: readonly Tool[] | null = null,
  ) {
    checkVariables(variables, tokenizer.chatVariables, "--chat-template-kwargs");
    this.#system = null;
    this.system = system;
  }

  /** Whether a chat template renders the messages; else each one is continued as plain text. */
  get hasTemplate(): boolean {
    return this.tokenizer.chatVariables !== null;
  }

  get system(): string | null {
    return this.#system;
  }

  /** A new system message begins a new conversation. null or "" = none. */
  set system(text: string | null) {
    const system = text === "" ? null : text;
    if (system !== null && !this.hasTemplate) {
      throw new UsageError("a system message needs a chat template, and the model has none");
    }
    this.#system = system;
    this.clear();
  }

  /** All messages, the system message first. */
  get messages(): readonly ChatMessage[] {
    const system = this.#system === null ? [] : [{ role: "system", content: this.#system }];
    return [...system, ...this.#turns];
  }

  clear(): void {
    this.#turns = [];
  }

  /** Takes away the last answer, with its calls of tools. @returns false when there is none */
  again(): boolean {
    if (this.#turns.at(-1)?.role !== "assistant") return false;
    while (this.#turns.length > 0 && this.#turns.at(-1)!.role !== "user") this.#turns.pop();
    return true;
  }

  /**
   * Adds a message of the user, unless it is null, and asks for an answer to the last one.
   * @returns the prompt, and the number of the answer, which keys its random draws
   * @throws RgxError when the template refuses the messages; they are as before then
   */
  ask(message: string | null): { promptIds: number[]; prompt: string; answer: number } {
    const before = this.#turns;
    if (message !== null) this.#turns = [...before, { role: "user", content: message }];
    try {
      return { ...this.#prompt(), answer: this.#answers++ };
    } catch (error) {
      this.#turns = before;
      throw error;
    }
  }

  #prompt(): { promptIds: number[]; prompt: string } {
    const { tokenizer, tools } = this, variables = { ...this.variables, tools };
    const rendered = tokenizer.applyChatTemplate(this.messages, variables);
    const prompt = rendered ?? this.#turns.at(-1)!.content;
    const promptIds = rendered === null
      ? tokenizer.encode(prompt)
      : tokenizer.encode(rendered, { addSpecialTokens: false });
    return { promptIds, prompt };
  }

  /** Adds the answer to the last message, also one that was cut off. */
  answered(text: string, calls: readonly ToolCall[] = []): void {
    const called = calls.length === 0 ? {} : { tool_calls: calls };
    this.#turns = [...this.#turns, { role: "assistant", content: text, ...called }];
  }

  /** Adds the results of calls, which are answered next. */
  returned(results: readonly ChatMessage[]): void {
    this.#turns = [...this.#turns, ...results];
  }

  /** Takes away a message of the user that got no answer, and what tools were called for it. */
  unanswered(): void {
    const last = this.#turns.findLastIndex(({ role }) => role === "user");
    const isOpen = ["user", "tool"].includes(this.#turns.at(-1)?.role ?? "");
    if (isOpen) this.#turns = this.#turns.slice(0, last);
  }
}
