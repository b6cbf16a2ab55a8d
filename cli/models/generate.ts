/** `rgx generate`: text from a model. */
import { counted } from "../../core/counted.ts";
import { UsageError } from "../../core/errors.ts";
import type { ModelConfig } from "../../models/architectures/model_config.ts";
import { stopStrings } from "../../models/generation/sampling/stop_strings.ts";
import { checkVariables } from "../../models/tokenizers/chat_template.ts";
import type { Completion, GenerationTiming } from "../../models/generation/types.ts";
import type { Tokenizer } from "../../models/tokenizers/types.ts";
import { refuseOtherRanks } from "../ranks/one_process.ts";
import { templateValues } from "../flags.ts";
import { constraintOf, readForm } from "./answer_form.ts";
import type { GenerateFlags } from "./answer_form.ts";
import { messagesOf, parseIds, readInput, withModel } from "./model_input.ts";
import { log, print } from "../terminal/terminal.ts";

/** @param stdin "-" if the command line names stdin as the source of the prompt */
export async function generateText(stdin: string | undefined, flags: GenerateFlags): Promise<void> {
  refuseOtherRanks();
  checkFlags(stdin, flags);
  const form = await readForm(flags);
  if (form !== null && flags.minNewTokens > 0) {
    throw new UsageError(`${form.flag} and --min-new-tokens exclude each other: a form has an end`);
  }
  if (flags.baseUrl !== undefined) {
    const { generateRemotely } = await import("./remote_generate.ts");
    return await generateRemotely(flags.baseUrl, flags, form);
  }
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
      maxNewTokens: flags.maxNewTokens,
      temperature: flags.temperature,
      topK: flags.topK,
      topP: flags.topP,
      minP: flags.minP,
      repetitionPenalty: flags.repetitionPenalty,
      minNewTokens: flags.minNewTokens,
      ...(stopWhen === null ? {} : { stopWhen }),
      ...(constraint === null ? {} : { constraint }),
      seed: flags.seed,
      eosIds: flags.ignoreEos ? [] : eosIds,
      ...(flags.activations === undefined ? {} : { activations: flags.activations }),
      onTiming: (timing) => timings.push(timing),
    });
    show({ adapter, promptIds, completions: completions!, tokenizer, timings }, flags);
  });
}

/** @throws UsageError for flags that exclude or need each other */
function checkFlags(stdin: string | undefined, flags: GenerateFlags): void {
  if (stdin !== undefined && stdin !== "-") {
    throw new UsageError(`${JSON.stringify(stdin)}: a prompt is given by --prompt or --file`, {
      advice: "Only - may stand alone: the prompt is read from stdin.",
    });
  }
  const given = [flags.prompt, flags.file, flags.idsFile, stdin]
    .filter((value) => value !== undefined);
  if (given.length > 1) {
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

/** The completions of a prompt, and how long they took. */
interface Generated {
  adapter: string | null;
  promptIds: readonly number[];
  completions: readonly Completion[];
  /** null: the ids are shown in place of texts. */
  tokenizer: Tokenizer | null;
  timings: readonly GenerationTiming[];
}

/** Prints the texts, or all of it as JSON, and notes to stderr. */
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
    print(JSON.stringify({
      ...(adapter === null ? {} : { adapter }),
      prompt_ids: promptIds,
      completions: completions.map((completion, i) => json(completion, texts[i]!)),
      tokens_per_second: speed,
    }));
    return;
  }
  if (adapter !== null) print(`# ${adapter}`);
  texts.forEach((text, i) => {
    const shown = text ?? JSON.stringify(completions[i]!.ids);
    print(texts.length > 1 ? `[${i + 1}] ${shown}` : shown);
  });
  if (flags.quiet) return;
  log(
    `${counted(promptIds.length, "prompt token")} at ${speed.prefill.toFixed(0)}/s, ` +
      `${completions.reduce((sum, { ids }) => sum + ids.length, 0)} new ones at ` +
      `${speed.decode.toFixed(0)}/s`,
  );
}

/** @param text null = the model has no tokenizer */
function json({ ids, logprobs, finishReason }: Completion, text: string | null) {
  return { ids, text, finish_reason: finishReason, logprobs };
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

function promptOf(
  text: string,
  flags: GenerateFlags,
  tokenizer: Tokenizer,
): number[] {
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
