/**
 * `rgx chat`: a conversation with a model, which is asked as a client asks `rgx serve`. Answers
 * appear while they are computed. Ctrl-C ends the answer; the part that was given stays in the
 * conversation. The model's cache keeps the conversation, so each turn computes only what is new.
 */
import type { ChatMessage, Tool, ToolCall } from "../../core/chat_message.ts";
import { EXIT, messageOf, RgxError, UsageError } from "../../core/errors.ts";
import { didYouMean } from "../../core/suggest.ts";
import { systemPromptText } from "../../data/prompt.ts";
import { checkVariables } from "../../models/tokenizers/chat_template.ts";
import { type AnswerDelta, callId, dialectOf } from "../../models/tokenizers/dialects/dialect.ts";
import type { Tokenizer } from "../../models/tokenizers/types.ts";
import type { Environment, State } from "../../rewards/environments/environment.ts";
import {
  findTool,
  type OpenEnvironments,
  openEnvironments,
  shownTools,
} from "../../rewards/environments/open_environments.ts";
import { answerAll, type Desk, type Task } from "../../serve/answer.ts";
import { ApiError } from "../../serve/api_error.ts";
import { chatFields } from "../../serve/chat.ts";
import { Fields } from "../../serve/fields.ts";
import { ModelHost, type ServedModel } from "../../serve/model_host.ts";
import { PLAIN_SAMPLING, samplingFields } from "../../serve/sampling_fields.ts";
import { openDesk } from "../../serve/server.ts";
import { type FlagsOf, pick, templateValues } from "../flags.ts";
import { LoadProgress } from "../terminal/redrawn_lines.ts";
import { storageOf } from "../models/model_input.ts";
import { openDevice } from "../open_device.ts";
import { labelled, log, paint, write } from "../terminal/terminal.ts";
import { type LineSource, nextMessage, stdinLines } from "./line_source.ts";

type ChatFlags = FlagsOf<"CHAT">;

/** Characters of a call or its result that are shown. */
const MAX_SHOWN = 400;
/** Answers in a row that call tools, and seconds that a call may take. */
const MAX_ROUNDS = 16, CALL_SECONDS = 30;

const HELP = `/reset               forget the conversation
/again               another answer to the last message
/system TEXT         begin anew with this system message (/system alone: without one)
/adapter NAME        go on with another adapter: a name of --adapter, a folder, or off
/set KEY VALUE       change how tokens are sampled (/set alone: show it)
/history             the messages so far
/exit                end (or Ctrl-D)
A line that ends with \\ goes on on the next one. Ctrl-C ends an answer.`;

export async function chat(path: string, flags: ChatFlags): Promise<number> {
  const weights = storageOf(flags), adapters = new Map(flags.adapter.map(namedAdapter));
  const device = await openDevice(flags), progress = new LoadProgress();
  try {
    const host = await ModelHost.open(path, device, {
      weights,
      onLoad: progress.on,
      maxSequences: 1,
      ...pick(flags, "activations", "kvCacheDtype"),
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

export class Chat {
  /** How tokens are sampled, which `/set` changes. */
  readonly #sampling: Record<string, number>;
  readonly #variables: Readonly<Record<string, unknown>>;
  readonly #conversation: Conversation;
  readonly #desk: Desk;
  /** Ends the answer that is being computed. */
  #answering: AbortController | null = null;
  /** The adapter in use; null = the model as it was named. */
  #adapter: string | null = null;
  /** Number of answers so far: each answer draws from random numbers of its own. */
  #answers = 0;

  constructor(
    private readonly host: ModelHost,
    private readonly adapters: ReadonlyMap<string, string>,
    flags: ChatFlags,
    private readonly source: LineSource,
    private readonly tools: ChatTools | null,
  ) {
    this.#desk = openDesk(host, 1);
    this.#sampling = {
      temperature: flags.temperature,
      top_p: flags.topP,
      top_k: flags.topK,
      min_p: flags.minP,
      repetition_penalty: flags.repetitionPenalty,
      max_new_tokens: flags.maxNewTokens,
      seed: flags.seed,
    };
    const { chatVariables } = host.base.loaded.tokenizer;
    this.#variables = templateValues(flags.chatTemplateKwargs) ?? {};
    checkVariables(this.#variables, chatVariables, "--chat-template-kwargs");
    this.#conversation = new Conversation(chatVariables !== null, flags.system);
  }

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
        if (error instanceof ApiError && error.details.code === "context_length_exceeded") {
          log("/reset forgets the conversation; --max-model-len gives more room.");
        }
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
        conversation.system = rest.trim();
        return log(rest.trim() === "" ? "no system message" : "a new conversation begins");
      case "adapter":
        return await this.#useAdapter(rest.trim());
      case "set": {
        const [key = "", ...value] = rest.trim().split(/[\s=]+/);
        if (key !== "") this.#set(key.replaceAll("-", "_"), value.join(" "));
        const all = Object.entries(this.#sampling);
        return log(all.map(([name, value]) => `${name} ${value}`).join("  "));
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

  /** @throws UsageError for an unknown key; ApiError for a value outside of its range */
  #set(key: string, text: string): void {
    const names = Object.keys(this.#sampling);
    if (!names.includes(key)) {
      throw new UsageError(`/set ${key}: no such key${didYouMean(key, names)}`, {
        advice: `The keys are ${names.join(", ")}.`,
      });
    }
    const value = text.trim() === "" || Number.isNaN(Number(text)) ? text : Number(text);
    const fields = Fields.of({ [key]: value }), limits = this.#limits(this.host.base);
    const { maxTokens } = samplingFields(fields, ["max_new_tokens"], limits);
    if (maxTokens === 0) throw fields.wrong(key, "an integer above 0");
    this.#sampling[key] = Number(value);
  }

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
    if (message !== null) this.#conversation.add({ role: "user", content: message });
    let calls = await this.#answer();
    for (let round = 0; calls.length > 0; round++) {
      if (round === MAX_ROUNDS) return log(`note: no more than ${MAX_ROUNDS} answers with calls`);
      const results: ChatMessage[] = [];
      for (const call of calls) {
        log(paint("dim", oneLine(`→ ${callText(call)}`)));
        const result = await this.tools!.run(call);
        log(paint("dim", oneLine(`← ${result.content}`)));
        results.push(result);
      }
      this.#conversation.add(...results);
      calls = await this.#answer();
    }
  }

  #limits({ loaded: { tokenizer, model } }: ServedModel) {
    return {
      tokenizer,
      vocabSize: model.vocabSize,
      maxModelLength: this.host.maxModelLength,
      maxN: 1,
      maxChoices: 1,
      maxLogprobs: 0,
      logprobsMode: "raw_logprobs" as const,
      defaults: PLAIN_SAMPLING,
    };
  }

  /** What a model is asked for the messages so far. */
  #task(model: ServedModel): Task {
    const { max_new_tokens: max_tokens, ...sampling } = this.#sampling;
    const { messages, hasTemplate } = this.#conversation, { tokenizer } = model.loaded;
    const fields = Fields.of({
      ...sampling,
      max_tokens,
      prompt_id: this.#answers,
      messages,
      tools: this.tools?.shown,
      chat_template_kwargs: this.#variables,
    });
    const limits = this.#limits(model);
    if (hasTemplate) return chatFields(fields, model, limits).task;
    const prompts = [tokenizer.encode(messages.at(-1)!.content)];
    const drawn = samplingFields(fields, ["max_tokens"], limits);
    return { prompts, sampling: drawn, top: null, promptTop: null, continuesPrompt: false };
  }

  /** Computes and shows the answer to the last message. @returns the calls of tools in it */
  async #answer(): Promise<ToolCall[]> {
    const conversation = this.#conversation, control = this.#answering = new AbortController();
    let text = "", thinks = false, calls: ToolCall[] = [];
    const show = (delta: AnswerDelta) => {
      const isThought = "reasoning" in delta;
      if (thinks && !isThought) write("\n");
      thinks = isThought && this.source.isTerminal;
      if ("content" in delta) {
        text += delta.content;
        write(delta.content);
      } else if (thinks && isThought) write(paint("dim", delta.reasoning));
    };
    try {
      const notes: string[] = [];
      await this.host.using(this.#adapter ?? undefined, async (model) => {
        const task = this.#task(model), [ids] = task.prompts;
        this.#answers++;
        try {
          const [answer] = await answerAll(this.#desk, model, task, control.signal, {
            part: (_, __, ___, { deltas }) => deltas.forEach(show),
          });
          const choice = answer!.choices[0]!, { toolCalls, errors } = choice.answer;
          // A call that is cut off is not run.
          if (choice.finishReason === "stop") calls = this.tools?.callsOf(toolCalls) ?? [];
          notes.push(...errors.map(({ message }) => `a call that is not run: ${oneLine(message)}`));
          if (choice.ids.length >= this.host.maxModelLength - ids!.length) {
            notes.push("the context is full; /reset forgets the conversation");
          }
        } catch (error) {
          if (!control.signal.aborted) throw error;
          write(" …");
        }
        if (text !== "" || calls.length === 0) write("\n");
      });
      const called = calls.length === 0 ? {} : { tool_calls: calls };
      conversation.add({ role: "assistant", content: text, ...called });
      for (const note of notes) log(`note: ${note}`);
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

function callText({ function: { name, arguments: args } }: ToolCall): string {
  return `${name}(${JSON.stringify(args)})`;
}

export class Conversation {
  #system: string | null = null;
  #turns: readonly ChatMessage[] = [];

  /**
   * @param hasTemplate whether a chat template renders the messages; else each one is continued as
   *   plain text
   * @throws UsageError for a system message without a chat template
   */
  constructor(readonly hasTemplate: boolean, system = "") {
    this.system = system;
  }

  /** A new system message, its text or its name, begins a new conversation. "" = none. */
  set system(text: string) {
    const system = text === "" ? null : systemPromptText(text);
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

  add(...messages: ChatMessage[]): void {
    this.#turns = [...this.#turns, ...messages];
  }

  clear(): void {
    this.#turns = [];
  }

  /** Takes away the last answer, with its calls of tools. @returns false when there is none */
  again(): boolean {
    if (this.#turns.at(-1)?.role !== "assistant") return false;
    this.#turns = this.#turns.slice(0, this.#lastOfUser + 1);
    return true;
  }

  /** Takes away a message of the user that got no answer, and what tools were called for it. */
  unanswered(): void {
    if (this.#turns.at(-1)?.role !== "assistant") {
      this.#turns = this.#turns.slice(0, this.#lastOfUser);
    }
  }

  get #lastOfUser(): number {
    return this.#turns.findLastIndex(({ role }) => role === "user");
  }
}

/** The tools of a chat: files whose functions the model may call (`--tools`). */
export class ChatTools {
  readonly shown: readonly Tool[];
  /** What the tools of a file keep. */
  readonly #states = new Map<Environment, State>();
  #calls = 0;

  private constructor(private readonly files: OpenEnvironments) {
    this.shown = shownTools(files.tools);
  }

  /** @returns null without files @throws UsageError if the model cannot be shown tools */
  static async open(paths: readonly string[], tokenizer: Tokenizer): Promise<ChatTools | null> {
    const tools = paths.map((path) => ({ path }));
    const files = await openEnvironments({ environment: null, environments: null, tools });
    if (files === null) return null;
    const { whyNoTools } = dialectOf(tokenizer);
    if (whyNoTools === null) return new ChatTools(files);
    await files.close();
    throw new UsageError(`--tools: ${whyNoTools}`, {
      advice: "Name a model that has learnt to call tools.",
    });
  }

  /** The calls of an answer as a message has them. */
  callsOf(calls: readonly ToolCall["function"][]): ToolCall[] {
    return calls.map((call) => ({ id: callId(this.#calls++), type: "function", function: call }));
  }

  /** Makes a call. @returns its result; what went wrong is a text for the model */
  async run({ id, function: { name, arguments: args } }: ToolCall): Promise<ChatMessage> {
    const parts = this.files.partsOf({ question: "", answer: null, metadata: {} });
    const owner = findTool(parts, name);
    const content = owner === null
      ? JSON.stringify({ error: `Tool ${name} not found.` })
      : await this.#ask(owner.environment, name, args);
    return { role: "tool", name, content, ...(id === undefined ? {} : { tool_call_id: id }) };
  }

  async #ask(
    environment: Environment,
    tool: string,
    args: Readonly<Record<string, unknown>>,
  ): Promise<string> {
    const state = this.#states.get(environment) ?? {};
    const [outcome] = await environment.answer([{ call: "run", tool, args, state }], CALL_SECONDS);
    if ("error" in outcome!) return JSON.stringify({ error: outcome.error });
    this.#states.set(environment, outcome!.state);
    return outcome!.content;
  }

  async close(): Promise<void> {
    await this.files.close();
  }
}
