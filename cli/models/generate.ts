/** `rgx generate`: text from a model in this process, or behind an OpenAI-compatible API. */
import { counted } from "../../core/counted.ts";
import { reworded, UsageError } from "../../core/errors.ts";
import { RemoteServer } from "../../core/remote/server.ts";
import type { ModelConfig } from "../../models/architectures/model_config.ts";
import { stopStrings } from "../../models/generation/sampling/stop_strings.ts";
import type { Completion, GenerationTiming } from "../../models/generation/types.ts";
import { type Form, TokenConstraint } from "../../models/grammar/token_constraint.ts";
import { checkVariables } from "../../models/tokenizers/chat_template.ts";
import type { Tokenizer } from "../../models/tokenizers/types.ts";
import { flagOf, type FlagsOf, given, parseJson, pick, templateValues } from "../flags.ts";
import { refuseOtherRanks } from "../open_device.ts";
import { log, print } from "../terminal/terminal.ts";
import { messagesOf, parseIds, readInput, withModel } from "./model_input.ts";

type GenerateFlags = FlagsOf<"GENERATE"> & { model: string };

/** @param stdin "-" if the command line names stdin as the source of the prompt */
export async function generateText(stdin: string | undefined, flags: GenerateFlags): Promise<void> {
  refuseOtherRanks();
  checkFlags(stdin, flags);
  const form = await readForm(flags);
  if (form !== null && flags.minNewTokens > 0) {
    throw new UsageError(`${form.flag} and --min-new-tokens exclude each other: a form has an end`);
  }
  if (flags.baseUrl !== undefined) return await generateRemotely(flags.baseUrl, flags, form);
  const { idsFile } = flags;
  const text = flags.prompt ?? await readInput(idsFile ?? flags.file ?? "-");
  await withModel(flags, async ({ model, tokenizer, eosIds }, adapter) => {
    const promptIds = idsFile === undefined
      ? promptOf(text, flags, tokenizer!)
      : parseIds(text, idsFile, model.vocabSize);
    checkPrompt(promptIds, model.config);
    if (tokenizer === null && flags.stop.length > 0) {
      throw new UsageError(`--stop: ${flags.model} has no tokenizer, and so no texts`);
    }
    const timings: GenerationTiming[] = [];
    const stopWhen = tokenizer === null ? null : stopStrings(tokenizer, flags.stop);
    const constraint = form === null ? null : constraintOf(form, tokenizer, model.vocabSize);
    const [completions] = await model.generate([{ promptId: 0, promptIds, n: flags.n }], {
      ...pick(flags, "maxNewTokens", "minNewTokens", "temperature", "topK", "topP", "minP"),
      ...pick(flags, "repetitionPenalty", "seed", "activations", "kvCacheDtype"),
      ...(stopWhen === null ? {} : { stopWhen }),
      ...(constraint === null ? {} : { constraint }),
      eosIds: flags.ignoreEos ? [] : eosIds,
      onTiming: (timing) => timings.push(timing),
    });
    show({ adapter, promptIds, completions: completions!, tokenizer, timings }, flags);
  });
}

function checkFlags(stdin: string | undefined, flags: GenerateFlags): void {
  if (stdin !== undefined && stdin !== "-") {
    throw new UsageError(`${JSON.stringify(stdin)}: a prompt is given by --prompt or --file`, {
      advice: "Only - may stand alone: the prompt is read from stdin.",
    });
  }
  const sources = [flags.prompt, flags.file, flags.idsFile, stdin];
  if (sources.filter((value) => value !== undefined).length > 1) {
    throw new UsageError("give one of --prompt, --file, --ids-file and -, not several");
  }
  if (flags.system !== undefined && !flags.chat) {
    throw new UsageError("--system needs --chat: a plain prompt has no system message");
  }
  if (flags.chatTemplateKwargs !== undefined && !flags.chat) {
    throw new UsageError("--chat-template-kwargs needs --chat: a plain prompt has no template");
  }
  if (flags.idsFile !== undefined && flags.chat) {
    throw new UsageError("--chat renders a text; --ids-file already holds the ids");
  }
  if (flags.minNewTokens > flags.maxNewTokens) {
    throw new UsageError(
      `--min-new-tokens ${flags.minNewTokens} is more than --max-new-tokens ${flags.maxNewTokens}`,
    );
  }
}

/** The form that texts must have, with the flag that asks for it. */
interface AskedForm {
  flag: string;
  form: Form;
}

/** @returns null when texts are free @throws UsageError for a schema that cannot be read */
async function readForm({ jsonSchema, regex }: GenerateFlags): Promise<AskedForm | null> {
  if (jsonSchema !== undefined && regex !== undefined) {
    throw new UsageError("--json-schema and --regex exclude each other");
  }
  if (regex !== undefined) return { flag: "--regex", form: { kind: "regex", pattern: regex } };
  if (jsonSchema === undefined) return null;
  const flag = `--json-schema ${jsonSchema}`;
  return { flag, form: { kind: "schema", schema: parseJson(await readInput(jsonSchema), flag) } };
}

/** @param tokenizer null = the model has none @throws UsageError for a form that cannot be kept */
function constraintOf(
  { flag, form }: AskedForm,
  tokenizer: Tokenizer | null,
  vocabSize: number,
): TokenConstraint {
  if (tokenizer === null) throw new UsageError(`${flag}: the model has no tokenizer`);
  try {
    return new TokenConstraint(form, tokenizer, vocabSize);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    throw reworded(error, `${flag}: ${error.message}`);
  }
}

/** @throws UsageError for a prompt that is empty, or leaves no room for an answer */
function checkPrompt(ids: readonly number[], { maxPositions, architecture }: ModelConfig): void {
  if (ids.length === 0) {
    throw new UsageError("the prompt is empty: there is nothing to continue", {
      advice: "Give a text, or the model's beginning-of-text token.",
    });
  }
  if (ids.length < maxPositions) return;
  const stretch = architecture === "gpt2"
    ? ""
    : ", or stretch the model: rope_scaling in its config.json (see docs/models.md)";
  throw new UsageError(
    `the prompt has ${ids.length} tokens, and the model ${maxPositions} positions, of ` +
      `which an answer needs at least one`,
    { advice: `Shorten the prompt${stretch}.` },
  );
}

interface Generated {
  adapter: string | null;
  promptIds: readonly number[];
  completions: readonly Completion[];
  /** null: the ids are shown in place of texts. */
  tokenizer: Tokenizer | null;
  timings: readonly GenerationTiming[];
}

function show(
  { adapter, promptIds, completions, tokenizer, timings }: Generated,
  flags: GenerateFlags,
): void {
  const texts = completions.map(({ ids }) =>
    tokenizer?.decode(ids, { skipSpecialTokens: true }) ?? null
  );
  const cut = completions.find(({ ids, finishReason }) =>
    finishReason === "length" && ids.length < flags.maxNewTokens
  );
  if (cut !== undefined && !flags.quiet) {
    const positions = promptIds.length + cut.ids.length;
    log(`note: cut off where the model's ${positions} positions are full`);
  }
  const speed = tokensPerSecond(timings);
  if (flags.json) {
    const all = completions.map(({ ids, logprobs, finishReason: finish_reason }, i) => (
      { ids, text: texts[i], finish_reason, logprobs }
    ));
    const result = { prompt_ids: promptIds, completions: all, tokens_per_second: speed };
    return print(JSON.stringify({ ...adapter !== null && { adapter }, ...result }));
  }
  if (adapter !== null) print(`# ${adapter}`);
  printAll(texts.map((text, i) => text ?? JSON.stringify(completions[i]!.ids)));
  if (flags.quiet) return;
  const count = completions.reduce((sum, { ids }) => sum + ids.length, 0);
  log(
    `${counted(promptIds.length, "prompt token")} at ${speed.prefill.toFixed(0)}/s, ` +
      `${count} new ones at ${speed.decode.toFixed(0)}/s`,
  );
}

function printAll(texts: readonly string[]): void {
  texts.forEach((text, i) => print(texts.length > 1 ? `[${i + 1}] ${text}` : text));
}

/** Prompt tokens per second of prefill, and new tokens after the first per second of decoding. */
function tokensPerSecond(
  timings: readonly GenerationTiming[],
): { prefill: number; decode: number } {
  const sum = (value: (timing: GenerationTiming) => number) =>
    timings.reduce((total, timing) => total + value(timing), 0);
  return {
    prefill: sum((t) => t.promptTokens) / Math.max(1e-6, sum((t) => t.prefillSeconds)),
    decode: sum((t) => t.newTokens) / Math.max(1e-6, sum((t) => t.decodeSeconds)),
  };
}

function promptOf(text: string, flags: GenerateFlags, tokenizer: Tokenizer): number[] {
  if (!flags.chat) return tokenizer.encode(text);
  const values = templateValues(flags.chatTemplateKwargs) ?? {};
  checkVariables(values, tokenizer.chatVariables, "--chat-template-kwargs");
  const rendered = tokenizer.applyChatTemplate(messagesOf(text, flags.system), values);
  if (rendered === null) {
    throw new UsageError(`${flags.model} has no chat template`, {
      advice: "leave --chat out to continue the plain text",
    });
  }
  return tokenizer.encode(rendered, { addSpecialTokens: false });
}

/** Flags about a model in this process, which have no meaning for a server. */
const LOCAL = [
  "adapter",
  "dtype",
  "loadIn8bit",
  "loadIn4bit",
  "activations",
  "kvCacheDtype",
  "device",
  "threads",
  "computeDtype",
] as const;

async function generateRemotely(
  baseUrl: string,
  flags: GenerateFlags,
  form: AskedForm | null,
): Promise<void> {
  const isGiven = (value: unknown) =>
    value !== undefined && value !== false && !(Array.isArray(value) && value.length === 0);
  const local = LOCAL.find((name) => isGiven(flags[name]));
  if (local !== undefined) {
    throw new UsageError(`${flagOf(local)} and --base-url exclude each other`, {
      advice: local === "adapter"
        ? "An adapter of the server is named by --model."
        : "The server decides how its model is stored and on which device it computes.",
    });
  }
  const text = flags.prompt ?? await readInput(flags.idsFile ?? flags.file ?? "-");
  const path = flags.chat ? "/chat/completions" : "/completions";
  const server = await RemoteServer.connect({
    baseUrl,
    ...given({ apiKeyEnv: flags.apiKeyEnv }),
    attempts: 1,
    onWarning: (message) => log(`note: ${message}`),
  }, null);
  try {
    const body = { ...bodyOf(text, flags), ...formFields(form) };
    const { choices, promptTokens, completionTokens } = await server.ask(path, body, null);
    if (flags.json) {
      const completions = choices.map(({ text, finishReason }) => (
        { text, finish_reason: finishReason }
      ));
      const usage = { prompt_tokens: promptTokens, completion_tokens: completionTokens };
      return print(JSON.stringify({ completions, usage, model: flags.model }));
    }
    printAll(choices.map(({ text }) => text));
    if (!flags.quiet) log(`${promptTokens} prompt tokens, ${completionTokens} new ones`);
  } finally {
    server.close();
  }
}

/** Fields that only some servers know are sent only if they differ from the default. */
function bodyOf(text: string, flags: GenerateFlags): object {
  const { chat, idsFile, stop, topK, minP, repetitionPenalty, minNewTokens } = flags;
  const prompt = idsFile === undefined ? text : parseIds(text, idsFile, Number.MAX_SAFE_INTEGER);
  const unless = <T>(value: T, absent: T) => value === absent ? undefined : value;
  return {
    model: flags.model,
    ...(chat ? { messages: messagesOf(text, flags.system) } : { prompt }),
    chat_template_kwargs: templateValues(flags.chatTemplateKwargs),
    max_tokens: flags.maxNewTokens,
    temperature: flags.temperature,
    top_p: flags.topP,
    n: flags.n,
    seed: flags.seed,
    top_k: unless(topK, 0),
    min_p: unless(minP, 0),
    repetition_penalty: unless(repetitionPenalty, 1),
    min_tokens: unless(minNewTokens, 0),
    ignore_eos: flags.ignoreEos,
    stop: stop.length === 0 ? undefined : stop,
  };
}

/** The form in the fields of OpenAI and of vLLM. */
function formFields(asked: AskedForm | null): object {
  if (asked === null) return {};
  const { form } = asked;
  if (form.kind === "regex") return { structured_outputs: { regex: form.pattern } };
  const schema = form.kind === "schema" ? form.schema : {};
  return { response_format: { type: "json_schema", json_schema: { name: "answer", schema } } };
}
